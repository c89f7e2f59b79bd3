import { isObject, type JsonObject, listOf, objectOf, parseJson, textOf } from '../../json.ts'
import type { Refusal } from '../dialect.ts'
import type { Provider } from '../provider.ts'
import { refusalText } from '../refusal-text.ts'

const gone = '[redacted]'

/** What Google's messages tell of our account there, beside what every provider's do. */
const accountPatterns: readonly (readonly [RegExp, string])[] = [
  [/([?&]key=)[^\s&"']+/gi, `$1${gone}`],
  [/\b(projects\/)[\w.:-]+/gi, `$1${gone}`],
  [/\b(project_number:)\s*\d+/gi, `$1${gone}`],
]

const messageOf = (error: JsonObject, provider: Provider): string => {
  const known = refusalText(textOf(error['message']), provider)
  return accountPatterns.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), known)
}

const blamesKey = (error: JsonObject): boolean =>
  listOf(error['details']).some((detail) => objectOf(detail)['reason'] === 'API_KEY_INVALID')

const codeOf = (error: JsonObject): string | null => {
  if (blamesKey(error)) return 'invalid_api_key'
  if (/input token count.* exceeds/i.test(textOf(error['message']))) return 'context_length_exceeded'
  const status = textOf(error['status'])
  return /^[A-Z_]{1,64}$/.test(status) ? status : null
}

const errorIn = (json: unknown): unknown => objectOf(Array.isArray(json) ? json[0] : json)['error']

/**
 * `{"error": {code, message, status, details}}`, in a list or not, without what it says of us. Null where it is no error of the dialect,
 * and for a failed precondition: that is the billing or the country of our account, and says nothing of the caller's request.
 */
export const readRefusal = (provider: Provider, body: Uint8Array): Refusal | null => {
  const error = errorIn(parseJson(Buffer.from(body).toString()))
  if (!isObject(error) || error['status'] === 'FAILED_PRECONDITION') return null
  return {
    message: messageOf(error, provider),
    code: codeOf(error),
    param: null,
  }
}
