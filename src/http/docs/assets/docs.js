// Shows the API document that the page links to, using Scalar. Scalar's features that contact other
// servers are turned off. The Content-Security-Policy would block them anyway.

/**
 * Headers that the responses of all operations have. The guide describes them, so this page does
 * not repeat them for each response.
 */
const ON_EVERY_RESPONSE = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'x-request-id',
  'Cache-Control',
]

const ERROR = '#/components/schemas/Error'

/**
 * Adapts the document to this page: inserts this server's address, and removes what the page would
 * repeat for every operation.
 */
function fitted(document, base) {
  const { paths, components } = document
  const deprecation = components.headers.Deprecation?.example ?? '@Infinity'
  const since = Number(deprecation.slice(1)) * 1000
  const inTense = (text) => (Date.now() < since ? text : text.replaceAll('eprecated from', 'eprecated since'))
  const parts = Object.values(paths).flatMap((path) => Object.values(path))
  const operations = parts.filter((part) => part.operationId)
  for (const operation of operations) {
    operation.description = inTense(operation.description)
    // Replace Scalar's own badge for stability, because that badge cannot show `beta`. Scalar marks
    // deprecated operations itself.
    delete operation['x-scalar-stability']
    if (!operation.deprecated) operation['x-badges'] = [{ name: operation['x-stability'] }]
    // Show no example cursor, because a cursor is valid only with the filters for which it was
    // issued.
    delete operation.parameters.find(({ name }) => name === 'cursor')?.example
    // Insert the server's base URL, so that a reader has to add only the key to the curl command.
    const [command] = operation['x-codeSamples']
    command.source = command.source.replace('${BASE_URL:?}', base)
  }
  const responses = [...operations, components].flatMap((part) => Object.values(part.responses))
  for (const response of responses) {
    const { headers, content } = response
    for (const header of ON_EVERY_RESPONSE) delete headers?.[header]
    for (const media of Object.values(content ?? {})) {
      if (media.schema.$ref !== ERROR) continue
      // Do not repeat the error schema, because Scalar shows the schema among the models. Do not
      // repeat the `Link` header, because it has the same meaning for every error.
      delete media.schema
      delete headers.Link
    }
    // Remove `headers` if no header is left, because Scalar would show an empty list.
    if (headers && Object.keys(headers).length === 0) delete response.headers
  }
  // Remove the link to the guide. If Scalar shows this link, it leaves out the texts of the contact
  // link and of the license link. The introduction already links to the guide.
  delete document.externalDocs
  return document
}

/**
 * If the fragment is an old link to content that has moved to another page, returns its new
 * address. Otherwise returns undefined.
 */
function moved({ tags }) {
  const [, tag] = /^#tag\/([^/]+)/.exec(location.hash) ?? []
  // `/docs` was once the page of version 1. So an old link to `/docs` may have a tag that only
  // version 1 has.
  if (tag && tags.every(({ name }) => name !== tag)) return `/docs/v1${location.hash}`
  // Sections of the introduction have moved to the guide.
  const [, section] = /^#(?:description\/|error-)(.+)/.exec(location.hash) ?? []
  return section && `/guide#${section}`
}

fetch(document.querySelector('link[rel="service-desc"]').href).then(async (response) => {
  const api = await response.json()
  const address = moved(api)
  if (address) return location.replace(address)
  const base = `${location.origin}/v${api.info.version.split('.')[0]}`
  Scalar.createApiReference('#reference', {
    content: fitted(api, base),
    // Requests from this page go to the server of this page, not to the servers in the document.
    servers: [{ url: base, description: 'The server of this page' }],
    authentication: { preferredSecurityScheme: 'apiKey' },
    // Do not store a pasted key in the browser.
    persistAuth: false,
    proxyUrl: '',
    telemetry: false,
    withDefaultFonts: false,
    agent: { disabled: true, hideAddApi: true },
    mcp: { disabled: true },
    hideClientButton: true,
    showDeveloperTools: 'never',
    // Hide Scalar's download button, because the page already links to the document.
    documentDownloadType: 'none',
    // The document is short, so everything is expanded.
    defaultOpenAllTags: true,
    expandAllResponses: true,
    expandAllModelSections: true,
    expandAllSchemaProperties: true,
    // Scalar's element ids begin with this text. The fragments of links to the page omit the text.
    slug: 'api',
    orderSchemaPropertiesBy: 'preserve',
    orderRequiredPropertiesFirst: false,
    // Show only the example programs in the document, not those that Scalar generates.
    hiddenClients: true,
    favicon: '/favicon.ico',
  })
  // Remove the text version of the document, which is for readers without scripts.
  document.getElementById('plain').remove()
})
