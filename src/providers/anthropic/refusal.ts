import { asObject, asText, isObject, parseJsonBytes } from '../../encoding/json.ts'
import type { UpstreamRefusal } from '../dialect/dialect.ts'
import type { Provider } from '../dialect/provider.ts'
import { errorWord, refusalText } from '../dialect/refusal-text.ts'

/** Clients of the other surfaces detect an overlong prompt by its code; here only the message shows it. */
const tooLong = /\bprompt is too long\b|\bexceeds? (?:the )?context (?:limit|window)\b/i

/** The upstream's error about the request, scrubbed of our account; null where it is no error of the dialect. */
export const readMessagesError = (provider: Provider, body: Uint8Array): UpstreamRefusal | null => {
  const error = asObject(parseJsonBytes(body))['error']
  if (!isObject(error)) return null
  const message = refusalText(asText(error['message']), provider)
  const words = [asObject(error['details'])['error_code'], error['code'], error['type']]
  const code = words.map((word) => errorWord(word, provider)).find((word) => word !== null) ?? null
  return {
    message,
    code: tooLong.test(message) ? 'context_length_exceeded' : code,
    param: errorWord(error['param'], provider),
  }
}
