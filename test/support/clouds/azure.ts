import { asObject, parseJson } from '../../../src/encoding/json.ts'
import type { CloudAnswer, CloudCall, CloudGate, IssuedTokens } from './cloud.ts'

const apiKey = 'azure-key-0123456789abcdef'
const apiVersion = '2024-10-21'
export const entraApplication = {
  tenantId: '11111111-2222-3333-4444-555555555555',
  clientId: 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee',
  clientSecret: 'entra~client~secret~0123456789',
  scope: 'https://cognitiveservices.azure.com/.default',
} as const
export const azureAccount = { apiKey, apiVersion } as const

const refusal = (status: number, code: string, message: string): CloudAnswer => ({
  status,
  json: { error: { code, message } },
})

const unauthorized = refusal(401, '401', 'Access denied due to invalid subscription key or wrong API endpoint.')

/** As the documentation of Azure OpenAI prints it. */
export const filteredPrompt = {
  error: {
    message:
      "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.",
    type: null,
    param: 'prompt',
    code: 'content_filter',
    status: 400,
    innererror: {
      code: 'ResponsibleAIPolicyViolation',
      content_filter_result: {
        hate: { filtered: false, severity: 'safe' },
        violence: { filtered: true, severity: 'high' },
      },
    },
  },
}

const datedPath = /^\/openai\/deployments\/([^/]+)(\/chat\/completions|\/embeddings)$/
const v1Path = /^\/openai\/v1(\/(?:chat\/completions|embeddings|responses(?:\/[\w-]+)?))$/
const datedResponses = /^\/openai(\/responses(?:\/[\w-]+)?)$/

interface AzureRoute {
  readonly path: string
  readonly deployment: string | null
}

const routeOf = ({ path, query }: CloudCall): AzureRoute | CloudAnswer => {
  const [, own = ''] = v1Path.exec(path) ?? []
  if (own !== '')
    return query.has('api-version')
      ? refusal(400, 'BadRequest', 'API version not supported')
      : { path: own, deployment: null }
  const [, deployment = '', dated = datedResponses.exec(path)?.[1] ?? ''] = datedPath.exec(path) ?? []
  if (dated === '' || query.get('api-version') !== apiVersion) return refusal(404, '404', 'Resource not found')
  return { path: dated, deployment: deployment === '' ? null : decodeURIComponent(deployment) }
}

/** Azure OpenAI in front of a sandbox of OpenAI's: by its own addresses, versions and credentials alone. */
export const azureGate =
  (sandboxUrl: string, tokens: IssuedTokens): CloudGate =>
  (call) => {
    const { headers, body } = call
    const hasKey = headers['api-key'] !== undefined
    if (hasKey === (headers['authorization'] !== undefined)) return unauthorized
    if (hasKey ? headers['api-key'] !== apiKey : !tokens.accepts(headers['authorization'])) return unauthorized
    const route = routeOf(call)
    if ('status' in route) return route
    const json = asObject(parseJson(body.toString()))
    if (json['data_sources'] !== undefined) return refusal(400, 'BadRequest', 'the index of the operator was reached')
    if (/absent/.test(String(route.deployment ?? json['model'])))
      return refusal(404, 'DeploymentNotFound', 'The API deployment for this resource does not exist.')
    if (body.includes('forbidden words')) return { status: 400, json: filteredPrompt }
    return {
      url: `${sandboxUrl}${route.path}`,
      headers: { authorization: 'Bearer sandbox', 'content-type': 'application/json' },
      body:
        body.length === 0
          ? null
          : JSON.stringify({ ...json, ...(route.deployment === null ? {} : { model: route.deployment }) }),
    }
  }

const wrongSecret = {
  status: 401,
  json: {
    error: 'invalid_client',
    error_description:
      'AADSTS7000215: Invalid client secret provided. Ensure the secret being sent is not the secret ID.',
  },
}

/** Entra's token endpoint, for one application. */
export const entraGate =
  (tokens: IssuedTokens): CloudGate =>
  ({ method, path, headers, body }) => {
    const form = new URLSearchParams(body.toString())
    if (method !== 'POST' || path !== `/${entraApplication.tenantId}/oauth2/v2.0/token`)
      return { status: 404, json: { error: 'invalid_request' } }
    if (!headers['content-type']?.startsWith('application/x-www-form-urlencoded'))
      return { status: 400, json: { error: 'invalid_request', error_description: 'not a form' } }
    if (form.get('grant_type') !== 'client_credentials' || form.get('scope') !== entraApplication.scope)
      return { status: 400, json: { error: 'invalid_scope', error_description: 'AADSTS70011' } }
    const { clientId, clientSecret } = entraApplication
    if (form.get('client_id') !== clientId || form.get('client_secret') !== clientSecret) return wrongSecret
    const { token, expiresInSeconds } = tokens.issue()
    return { status: 200, json: { token_type: 'Bearer', expires_in: expiresInSeconds, access_token: token } }
  }

export const managedResource = 'https://cognitiveservices.azure.com'

/** The metadata service of a virtual machine, which writes its numbers as text. */
export const imdsGate =
  (tokens: IssuedTokens): CloudGate =>
  ({ method, path, query, headers }) => {
    if (headers['metadata'] !== 'true')
      return {
        status: 400,
        json: { error: 'bad_request_102', error_description: 'Required metadata header not specified' },
      }
    if (method !== 'GET' || path !== '/metadata/identity/oauth2/token' || query.get('api-version') !== '2018-02-01')
      return { status: 404, json: { error: 'not_found' } }
    if (query.get('resource') !== managedResource) return { status: 400, json: { error: 'invalid_resource' } }
    const { token, expiresInSeconds } = tokens.issue()
    return {
      status: 200,
      json: {
        access_token: token,
        expires_in: String(expiresInSeconds),
        expires_on: String(Math.floor(Date.now() / 1_000) + expiresInSeconds),
        resource: managedResource,
        token_type: 'Bearer',
      },
    }
  }

/** The identity endpoint of App Service, with its own header and version. */
export const appServiceGate =
  (tokens: IssuedTokens): CloudGate =>
  ({ query, headers }) => {
    if (headers['x-identity-header'] !== 'app-service-header' || query.get('api-version') !== '2019-08-01')
      return { status: 401, json: { message: 'unauthorized' } }
    const { token, expiresInSeconds } = tokens.issue()
    return {
      status: 200,
      json: {
        access_token: token,
        expires_on: String(Math.floor(Date.now() / 1_000) + expiresInSeconds),
        resource: query.get('resource'),
        token_type: 'Bearer',
      },
    }
  }
