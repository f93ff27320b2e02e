// Draws the API document with Scalar. Everything that would contact another server
// is switched off; the Content-Security-Policy would block it anyway.
Scalar.createApiReference('#reference', {
  url: '/openapi.json',
  // In the document the hosts of production and staging are variables; requests
  // from this page go to the server of this page.
  servers: [{ url: `${location.origin}/v1`, description: 'The server of this page' }],
  authentication: { preferredSecurityScheme: 'apiKey' },
  // A pasted key is not stored.
  persistAuth: false,
  proxyUrl: '',
  telemetry: false,
  withDefaultFonts: false,
  agent: { disabled: true, hideAddApi: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  documentDownloadType: 'direct',
  // The document is short: everything is open.
  defaultOpenAllTags: true,
  expandAllResponses: true,
  expandAllModelSections: true,
  expandAllSchemaProperties: true,
  // Begins every id, and is left out of addresses.
  slug: 'api',
  // Headings have the addresses `/docs#description/limits` and, of an error such as
  // `404 order_not_found`, `/docs#error-order_not_found`.
  generateHeadingSlug: ({ slug }) => {
    const code = /^\d{3}-(.+)$/.exec(slug)?.[1]
    return code ? `api/error-${code.replaceAll('-', '_')}` : `api/description/${slug}`
  },
  // Fields in the order of the document.
  orderSchemaPropertiesBy: 'preserve',
  orderRequiredPropertiesFirst: false,
  favicon: '/favicon.ico',
})
