import { asText, isObject, type JsonObject, parseJsonBytes } from '../../encoding/json.ts'
import { secretHeaderValues } from '../dialect/provider.ts'
import { withoutKeys } from '../dialect/scrub.ts'
import { type HttpClient, HttpFault, type HttpRequest, type HttpResponse, readBody } from '../http.ts'
import { authenticationLimits } from './limits.ts'
import type { Credential } from './renewed-credential.ts'

const { credentialAnswerBytesMax, credentialRequestMs, faultCharactersMax } = authenticationLimits

type ServiceRequest = Pick<HttpRequest, 'url' | 'method' | 'headers' | 'signal'> & { readonly body?: string }

/** Why no credential was issued, for an operator: without the secrets that it was asked for with. */
export class CredentialFault extends Error {
  constructor(message: string, secrets: readonly string[] = []) {
    super(withoutKeys(message, secrets, faultCharactersMax))
    this.name = 'CredentialFault'
  }
}

const causeOf = (fault: HttpFault): string => (fault.cause instanceof Error ? `: ${fault.cause.message}` : '')

const sendTo = async (http: HttpClient, request: ServiceRequest): Promise<HttpResponse> => {
  const { host } = new URL(request.url)
  const timeouts = { firstByteTimeoutMs: credentialRequestMs, answerTimeoutMs: credentialRequestMs }
  try {
    return await http.request({ ...request, ...timeouts })
  } catch (fault) {
    if (fault instanceof HttpFault)
      throw new CredentialFault(`${host} cannot be reached: ${fault.kind}${causeOf(fault)}`)
    throw fault
  }
}

/** As `fetch` answers, for a library; through our own client. Throws CredentialFault. */
export const requestIdentityService = async (http: HttpClient, request: ServiceRequest): Promise<Response> => {
  const response = await sendTo(http, request)
  const bytes = await readBody(response, credentialAnswerBytesMax)
  if (bytes === null) throw new CredentialFault(`${new URL(request.url).host} answers with more than a credential`)
  const contentType = response.headers['content-type']
  return new Response(Buffer.from(bytes), {
    status: response.status,
    headers: { 'content-type': String(contentType ?? 'application/octet-stream') },
  })
}

const messageIn = (json: unknown): string => {
  if (!isObject(json)) return ''
  const { error, error_description: description, message } = json
  return [error, description, message].map(asText).filter(Boolean).join(': ')
}

/** Throws CredentialFault. */
export const readMetadata = async (
  http: HttpClient,
  request: Pick<ServiceRequest, 'url' | 'headers' | 'signal'>,
): Promise<JsonObject> => {
  const response = await requestIdentityService(http, { ...request, method: 'GET' })
  const json = parseJsonBytes(new Uint8Array(await response.arrayBuffer()))
  const { host } = new URL(request.url)
  if (!response.ok)
    throw new CredentialFault(`${host} answers ${response.status} ${messageIn(json)}`, secretHeaderValues(request))
  if (!isObject(json)) throw new CredentialFault(`${host} answers no JSON`)
  return json
}

const secondsIn = (value: unknown): number | null => {
  const seconds = Number(value)
  return value !== undefined && value !== '' && Number.isFinite(seconds) && seconds > 0 ? seconds : null
}

const lifetimeUnlessKnownSeconds = 60

/** Throws CredentialFault where there is no token. */
export const tokenIn = (answer: JsonObject, nowMs: number): Credential<string> => {
  const token = asText(answer['access_token'])
  if (token === '') throw new CredentialFault('the identity service answers without an access token')
  const expiresOn = secondsIn(answer['expires_on'])
  const lifetime = secondsIn(answer['expires_in'])
  if (lifetime === null && expiresOn !== null) return { value: token, expiresAtMs: expiresOn * 1_000 }
  return { value: token, expiresAtMs: nowMs + (lifetime ?? lifetimeUnlessKnownSeconds) * 1_000 }
}
