// Draws the API document with Scalar. Everything that would ask another server
// is switched off here; the Content-Security-Policy would refuse it anyway.
Scalar.createApiReference('#reference', {
  url: '/openapi.json',
  // The document names production and staging by a host to be filled in; a
  // request from this page goes to the server that serves the page.
  servers: [{ url: `${location.origin}/v1`, description: 'The server of this page' }],
  authentication: { preferredSecurityScheme: 'apiKey' },
  // A pasted key is gone when the page is.
  persistAuth: false,
  proxyUrl: '',
  telemetry: false,
  withDefaultFonts: false,
  agent: { disabled: true, hideAddApi: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  documentDownloadType: 'direct',
  defaultOpenAllTags: true,
  // Fields in the order of the document.
  orderSchemaPropertiesBy: 'preserve',
  orderRequiredPropertiesFirst: false,
  favicon: '/favicon.ico',
})
