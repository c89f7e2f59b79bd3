import { asObject, asText, isObject, parseJson } from '../../encoding/json.ts'
import type { UpstreamRefusal } from '../dialect.ts'
import type { Provider } from '../provider.ts'
import { errorWord, refusalText } from '../refusal-text.ts'

/** Clients of the other surfaces know an overlong prompt by its code; here the message alone tells it. */
const tooLong = /\bprompt is too long\b|\bexceeds? (?:the )?context (?:limit|window)\b/i

/** What the upstream says of the caller's request, without what it says of us; null where it is no error of the dialect. */
export const readMessagesError = (provider: Provider, body: Uint8Array): UpstreamRefusal | null => {
  const error = asObject(parseJson(Buffer.from(body).toString()))['error']
  if (!isObject(error)) return null
  const message = refusalText(asText(error['message']), provider)
  const code =
    errorWord(asObject(error['details'])['error_code']) ?? errorWord(error['code']) ?? errorWord(error['type'])
  return {
    message,
    code: tooLong.test(message) ? 'context_length_exceeded' : code,
    param: errorWord(error['param']),
  }
}
