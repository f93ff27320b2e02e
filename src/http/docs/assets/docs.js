// Shows the API document that the page links to, using Scalar. Scalar's features that contact other
// servers are turned off; the Content-Security-Policy would block them anyway.

/** Headers of every response. The guide describes them, so responses do not repeat them. */
const ON_EVERY_RESPONSE = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'x-request-id',
  'Cache-Control',
]

/** The schema of the body of every error. */
const ERROR = '#/components/schemas/Error'

/** Returns the document with this server's address, and without what every operation repeats. */
function fitted(document, base) {
  const { paths, components } = document
  const deprecation = components.headers.Deprecation?.example ?? '@Infinity'
  const since = Number(deprecation.slice(1)) * 1000
  const inTense = (text) => (Date.now() < since ? text : text.replaceAll('eprecated from', 'eprecated since'))
  const parts = Object.values(paths).flatMap((path) => Object.values(path))
  const operations = parts.filter((part) => part.operationId)
  for (const operation of operations) {
    operation.description = inTense(operation.description)
    // Scalar's own badge cannot show `beta`. Scalar marks deprecated operations itself.
    delete operation['x-scalar-stability']
    if (!operation.deprecated) operation['x-badges'] = [{ name: operation['x-stability'] }]
    // A cursor is valid only with the filters for which it was issued. Readers change the example
    // filters, so the example cursor would be rejected.
    delete operation.parameters.find(({ name }) => name === 'cursor')?.example
    // The command with curl needs only the key.
    const [command] = operation['x-codeSamples']
    command.source = command.source.replace('${BASE_URL:?}', base)
  }
  const responses = [...operations, components].flatMap((part) => Object.values(part.responses))
  for (const response of responses) {
    const { headers, content } = response
    for (const header of ON_EVERY_RESPONSE) delete headers?.[header]
    for (const media of Object.values(content ?? {})) {
      if (media.schema.$ref !== ERROR) continue
      // Do not repeat the schema of errors here: Scalar shows it once, among the models. The `Link`
      // header is of the same kind for every error, so leave it out as well.
      delete media.schema
      delete headers.Link
    }
    // Scalar would show an empty list.
    if (headers && Object.keys(headers).length === 0) delete response.headers
  }
  // The introduction links to the guide. With one more link beside them, Scalar hides the texts of
  // the contact and the licence.
  delete document.externalDocs
  return document
}

/** Returns the address of what was at this address of the page before, or undefined. */
function moved({ tags }) {
  const [, tag] = /^#tag\/([^/]+)/.exec(location.hash) ?? []
  // Links to tags of version 1 may lead to `/docs`, which was the page of version 1. Send them to
  // its new address.
  if (tag && tags.every(({ name }) => name !== tag)) return `/docs/v1${location.hash}`
  // The guide has the sections that the introduction had.
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
    // A pasted key is not stored.
    persistAuth: false,
    proxyUrl: '',
    telemetry: false,
    withDefaultFonts: false,
    agent: { disabled: true, hideAddApi: true },
    mcp: { disabled: true },
    hideClientButton: true,
    showDeveloperTools: 'never',
    // Scalar offers no download, because the page links to the document as it is served.
    documentDownloadType: 'none',
    // The document is short, so everything is expanded.
    defaultOpenAllTags: true,
    expandAllResponses: true,
    expandAllModelSections: true,
    expandAllSchemaProperties: true,
    // The prefix of every id in the page. Addresses do not contain it.
    slug: 'api',
    // Fields are shown in the order of the document.
    orderSchemaPropertiesBy: 'preserve',
    orderRequiredPropertiesFirst: false,
    // Show the example programs in the document, and none that Scalar generates.
    hiddenClients: true,
    favicon: '/favicon.ico',
  })
  // Remove the text version of the document, which is for readers without scripts.
  document.getElementById('plain').remove()
})
