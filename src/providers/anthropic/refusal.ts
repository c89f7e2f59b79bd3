import { isObject, objectOf, parseJson, textOf } from '../../json.ts'
import type { Refusal } from '../dialect.ts'
import type { Provider } from '../provider.ts'
import { scrub } from '../scrub.ts'

const wordPattern = /^[A-Za-z0-9_.[\]-]{1,128}$/

const wordOf = (value: unknown): string | null => (typeof value === 'string' && wordPattern.test(value) ? value : null)

const secretsOf = ({ apiKey, baseUrl, headers = {} }: Provider): readonly string[] => {
  const { host, hostname } = new URL(baseUrl)
  return [apiKey, baseUrl, host, hostname, ...Object.values(headers)]
}

/** Clients of the other surfaces know an overlong prompt by its code; here the message alone tells it. */
const tooLong = /\bprompt is too long\b|\bexceeds? (?:the )?context (?:limit|window)\b/i

/** What the upstream says of the caller's request, without what it says of us; null where it is no error of the dialect. */
export const readRefusal = (provider: Provider, body: Uint8Array): Refusal | null => {
  const error = objectOf(parseJson(Buffer.from(body).toString()))['error']
  if (!isObject(error)) return null
  const message = scrub(textOf(error['message']), secretsOf(provider))
  const code = wordOf(objectOf(error['details'])['error_code']) ?? wordOf(error['code']) ?? wordOf(error['type'])
  return {
    message: message === '' ? 'The upstream provider refused the request.' : message,
    code: tooLong.test(message) ? 'context_length_exceeded' : code,
    param: wordOf(error['param']),
  }
}
