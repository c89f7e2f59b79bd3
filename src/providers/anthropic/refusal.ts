import { isObject, objectOf, parseJson, textOf } from '../../json.ts'
import type { Refusal } from '../dialect.ts'
import type { Provider } from '../provider.ts'
import { refusalText, wordOf } from '../refusal-text.ts'

/** Clients of the other surfaces know an overlong prompt by its code; here the message alone tells it. */
const tooLong = /\bprompt is too long\b|\bexceeds? (?:the )?context (?:limit|window)\b/i

/** What the upstream says of the caller's request, without what it says of us; null where it is no error of the dialect. */
export const readRefusal = (provider: Provider, body: Uint8Array): Refusal | null => {
  const error = objectOf(parseJson(Buffer.from(body).toString()))['error']
  if (!isObject(error)) return null
  const message = refusalText(textOf(error['message']), provider)
  const code = wordOf(objectOf(error['details'])['error_code']) ?? wordOf(error['code']) ?? wordOf(error['type'])
  return {
    message,
    code: tooLong.test(message) ? 'context_length_exceeded' : code,
    param: wordOf(error['param']),
  }
}
