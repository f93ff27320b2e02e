// Node resolves no import without its extension.
export default { output: { path: "client", importFileExtension: ".js" } };
