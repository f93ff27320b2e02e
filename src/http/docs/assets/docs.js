// Draws the API document that the page names with Scalar. Everything that would contact another server
// is switched off; the Content-Security-Policy would block it anyway.

/** What the introduction says of every response. */
const ON_EVERY_RESPONSE = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'x-request-id',
  'Cache-Control',
]

/** The body of every error. */
const ERROR = '#/components/schemas/Error'

/** The document for a reader of this page: with its address, and once what is everywhere. */
function fitted(document, base) {
  const { info, paths, components } = document
  const deprecation = components.headers.Deprecation?.example ?? '@Infinity'
  const since = Number(deprecation.slice(1)) * 1000
  const inTense = (text) => (Date.now() < since ? text : text.replaceAll('eprecated from', 'eprecated since'))
  info.description = inTense(info.description.replaceAll(/https:\/\/<host>\/v\d+/g, base))
  const parts = Object.values(paths).flatMap((path) => Object.values(path))
  const operations = parts.filter((part) => part.operationId)
  for (const operation of operations) {
    operation.description = inTense(operation.description)
    // Scalar's own badge knows no beta. That of a deprecated operation it draws itself.
    delete operation['x-scalar-stability']
    if (!operation.deprecated) operation['x-badges'] = [{ name: operation['x-stability'] }]
  }
  const responses = [...operations, components].flatMap((part) => Object.values(part.responses))
  for (const { headers, content } of responses) {
    for (const header of ON_EVERY_RESPONSE) delete headers?.[header]
    // The model, once.
    for (const media of Object.values(content ?? {})) if (media.schema.$ref === ERROR) delete media.schema
  }
  return document
}

fetch(document.querySelector('link[rel="service-desc"]').href).then(async (response) => {
  const api = await response.json()
  const base = `${location.origin}/v${api.info.version.split('.')[0]}`
  Scalar.createApiReference('#reference', {
    content: fitted(api, base),
    // In the document the hosts of production and staging are variables; requests
    // from this page go to the server of this page.
    servers: [{ url: base, description: 'The server of this page' }],
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
    // The link above leads to the document as it is served.
    documentDownloadType: 'none',
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
    // The document's own programs, and none that Scalar writes.
    hiddenClients: true,
    favicon: '/favicon.ico',
  })
  // The document as text, for readers without scripts.
  document.getElementById('plain').remove()
})
