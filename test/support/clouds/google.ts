import { createVerify, generateKeyPairSync } from 'node:crypto'
import { asArray, asObject, type JsonObject, parseJson } from '../../../src/encoding/json.ts'
import type { CloudAnswer, CloudCall, CloudGate, Forwarded, IssuedTokens } from './cloud.ts'

const { publicKey, privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2_048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})
const clientEmail = 'gateway@a-project.iam.gserviceaccount.com'

/** As `gcloud iam service-accounts keys create` writes it. */
export const serviceAccount = (tokenOrigin: string): JsonObject => ({
  type: 'service_account',
  project_id: 'a-project',
  private_key_id: 'key-1',
  private_key: privateKey,
  client_email: clientEmail,
  token_uri: `${tokenOrigin}/token`,
})

/** As `gcloud auth application-default login` writes it. */
export const authorizedUser = (tokenOrigin: string): JsonObject => ({
  type: 'authorized_user',
  client_id: 'a-client.apps.googleusercontent.com',
  client_secret: 'google-client-secret-0123456789',
  refresh_token: '1//google-refresh-token-0123456789',
  quota_project_id: 'a-project',
  token_uri: `${tokenOrigin}/token`,
})

const partOf = (text: string | undefined): JsonObject =>
  asObject(parseJson(Buffer.from(text ?? '', 'base64url').toString()))

const hourSeconds = 3_600

const problemOfAssertion = (assertion: string, audience: string): string | null => {
  const [header, claims, signature = ''] = assertion.split('.')
  const { alg, kid } = partOf(header)
  const { iss, aud, scope, iat, exp } = partOf(claims)
  const verify = createVerify('RSA-SHA256').update(`${header}.${claims}`)
  if (alg !== 'RS256' || kid !== 'key-1') return 'the key is unknown'
  if (!verify.verify(publicKey, signature, 'base64url')) return 'Invalid JWT Signature.'
  if (iss !== clientEmail || aud !== audience) return 'Invalid JWT: issuer or audience.'
  if (scope !== 'https://www.googleapis.com/auth/cloud-platform') return 'Invalid scope.'
  const nowSeconds = Date.now() / 1_000
  if (Number(iat) > nowSeconds + 60 || Number(exp) < nowSeconds || Number(exp) - Number(iat) > hourSeconds)
    return 'Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe.'
  return null
}

const refused = (description: string): CloudAnswer => ({
  status: 400,
  json: { error: 'invalid_grant', error_description: description },
})

const problemOfGrant = ({ headers, body }: CloudCall): string | null => {
  const form = new URLSearchParams(body.toString())
  if (form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer')
    return problemOfAssertion(form.get('assertion') ?? '', `http://${headers['host']}/token`)
  if (form.get('grant_type') !== 'refresh_token') return 'unknown grant'
  const user = authorizedUser('')
  const isKnown = ['client_id', 'client_secret', 'refresh_token'].every((name) => form.get(name) === user[name])
  return isKnown ? null : 'Bad Request'
}

/** Google's token endpoint, for one service account and one user. */
export const googleTokenGate =
  (tokens: IssuedTokens): CloudGate =>
  (call) => {
    if (call.method !== 'POST' || call.path !== '/token') return { status: 404, json: {} }
    const problem = problemOfGrant(call)
    if (problem !== null) return refused(problem)
    const { token, expiresInSeconds } = tokens.issue()
    return { status: 200, json: { access_token: token, expires_in: expiresInSeconds, token_type: 'Bearer' } }
  }

/** The metadata server of a machine. */
export const googleMetadataGate =
  (tokens: IssuedTokens): CloudGate =>
  ({ method, path, headers }) => {
    if (headers['metadata-flavor'] !== 'Google')
      return { status: 403, json: { error: 'Missing Metadata-Flavor:Google header.' } }
    if (method !== 'GET' || path !== '/computeMetadata/v1/instance/service-accounts/default/token')
      return { status: 404, json: {} }
    const { token, expiresInSeconds } = tokens.issue()
    return {
      status: 200,
      headers: { 'metadata-flavor': 'Google' },
      json: { access_token: token, expires_in: expiresInSeconds, token_type: 'Bearer' },
    }
  }

export const vertexPath = '/v1/projects/a-project/locations/europe-west1'

const googleError = (code: number, status: string, message: string): CloudAnswer => ({
  status: code,
  json: { error: { code, message, status } },
})

const geminiPath = /^\/publishers\/google\/models\/([^/]+):(generateContent|streamGenerateContent|countTokens|predict)$/
const claudePath = /^\/publishers\/anthropic\/models\/([^/]+):(rawPredict|streamRawPredict)$/
const unknownMembers = ['model', 'service_tier', 'inference_geo', 'metadata']

const predict = (body: JsonObject): CloudAnswer => ({
  status: 200,
  json: {
    predictions: asArray(body['instances']).map(() => ({
      embeddings: { values: [0.25, -0.5], statistics: { truncated: false, token_count: 3 } },
    })),
    metadata: { billableCharacterCount: 10 },
  },
})

const countedMembers = ['contents', 'systemInstruction', 'tools', 'generationConfig']

/** The API of a key takes such a request in a wrapper. */
const countRequest = (sandboxUrl: string, model: string, body: JsonObject): Forwarded | CloudAnswer => {
  const unknown = Object.keys(body).filter((member) => !countedMembers.includes(member))
  if (unknown.length > 0)
    return googleError(400, 'INVALID_ARGUMENT', `Unknown name "${unknown[0]}": Cannot find field.`)
  return {
    url: `${sandboxUrl}/models/${model}:countTokens`,
    headers: { 'x-goog-api-key': 'sandbox' },
    body: JSON.stringify({ generateContentRequest: { model: `models/${decodeURIComponent(model)}`, ...body } }),
  }
}

const claudeRequest = (
  sandboxUrl: string,
  { headers }: CloudCall,
  body: JsonObject,
  [, model = '', method]: RegExpExecArray,
): Forwarded | CloudAnswer => {
  const counts = model === 'count-tokens'
  const extra = unknownMembers.filter((member) => member in body && !(counts && member === 'model'))
  const { anthropic_version: version, ...rest } = body
  if (version !== 'vertex-2023-10-16' || extra.length > 0 || headers['anthropic-version'] !== undefined)
    return googleError(400, 'INVALID_ARGUMENT', `extra inputs are not permitted: ${extra.join(', ')}`)
  if (!counts && (rest['stream'] === true) !== (method === 'streamRawPredict'))
    return googleError(400, 'INVALID_ARGUMENT', 'stream does not fit the method')
  return {
    url: `${sandboxUrl}/messages${counts ? '/count_tokens' : ''}`,
    headers: {
      'x-api-key': 'sandbox',
      'anthropic-version': '2023-06-01',
      ...(headers['anthropic-beta'] === undefined ? {} : { 'anthropic-beta': headers['anthropic-beta'] }),
    },
    body: JSON.stringify(counts ? rest : { ...rest, model: decodeURIComponent(model) }),
  }
}

/** Vertex AI in front of a sandbox of Google's and Anthropic's formats: by its addresses and with tokens alone. */
export const vertexGate =
  (sandboxUrl: string, tokens: IssuedTokens): CloudGate =>
  (call) => {
    const { headers, path, query } = call
    const hasKey = ['x-goog-api-key', 'x-api-key'].some((name) => headers[name] !== undefined)
    if (hasKey || !tokens.accepts(headers['authorization']))
      return googleError(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.')
    if (!path.startsWith(vertexPath)) return googleError(404, 'NOT_FOUND', 'Not found')
    const own = path.slice(vertexPath.length)
    if (own.includes('absent'))
      return googleError(
        404,
        'NOT_FOUND',
        'Publisher Model `projects/a-project/locations/europe-west1/absent` was not found.',
      )
    const body = asObject(parseJson(call.body.toString()))
    const claude = claudePath.exec(own)
    if (claude !== null) return claudeRequest(sandboxUrl, call, body, claude)
    const [, model = '', method] = geminiPath.exec(own) ?? []
    if (method === undefined) return googleError(404, 'NOT_FOUND', 'Not found')
    if (method === 'predict') return predict(body)
    if (method === 'countTokens') return countRequest(sandboxUrl, model, body)
    return {
      url: `${sandboxUrl}/models/${model}:${method}?${query}`,
      headers: { 'x-goog-api-key': 'sandbox' },
      body: JSON.stringify(body),
    }
  }
