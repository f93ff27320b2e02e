// Node resolves no import without its extension.
const client = (document, path) => ({
  input: `${process.env.ORIGIN}${document}`,
  output: { path, importFileExtension: ".js" },
});
export default [client("/openapi.json", "client"), client("/openapi-v2.json", "client-v2")];
