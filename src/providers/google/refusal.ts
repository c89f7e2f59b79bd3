import { asArray, asObject, asText, isObject, type JsonObject, parseJsonBytes } from '../../encoding/json.ts'
import type { UpstreamRefusal } from '../dialect/dialect.ts'
import type { Provider } from '../dialect/provider.ts'
import { refusalText } from '../dialect/refusal-text.ts'

const gone = '[redacted]'

const accountPatterns: readonly (readonly [RegExp, string])[] = [
  [/([?&]key=)[^\s&"']+/gi, `$1${gone}`],
  [/\b(projects\/)[\w.:-]+/gi, `$1${gone}`],
  [/\b(project_number:)\s*\d+/gi, `$1${gone}`],
]

const messageOf = (error: JsonObject, provider: Provider): string => {
  const known = refusalText(asText(error['message']), provider)
  return accountPatterns.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), known)
}

const blamesKey = (error: JsonObject): boolean =>
  asArray(error['details']).some((detail) => asObject(detail)['reason'] === 'API_KEY_INVALID')

const retryAfterOf = (error: JsonObject): Pick<UpstreamRefusal, 'retryAfterMs'> => {
  const delays = asArray(error['details']).map((detail) => asText(asObject(detail)['retryDelay']))
  const [seconds] = delays.flatMap((delay) => /^(\d{1,9}(?:\.\d+)?)s$/.exec(delay)?.[1] ?? [])
  return seconds === undefined ? {} : { retryAfterMs: Math.ceil(Number(seconds) * 1_000) }
}

const codeOf = (error: JsonObject): string | null => {
  if (blamesKey(error)) return 'invalid_api_key'
  if (/input token count.* exceeds/i.test(asText(error['message']))) return 'context_length_exceeded'
  const status = asText(error['status'])
  return /^[A-Z_]{1,64}$/.test(status) ? status : null
}

const errorIn = (json: unknown): unknown => asObject(Array.isArray(json) ? json[0] : json)['error']

/** Null also for a failed precondition: that is the billing or the country of our account, not the caller's request. */
export const readGoogleError = (provider: Provider, body: Uint8Array): UpstreamRefusal | null => {
  const error = errorIn(parseJsonBytes(body))
  if (!isObject(error) || error['status'] === 'FAILED_PRECONDITION') return null
  return {
    message: messageOf(error, provider),
    code: codeOf(error),
    param: null,
    ...retryAfterOf(error),
  }
}
