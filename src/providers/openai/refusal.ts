import { isObject, parseJson, textOf } from '../../json.ts'
import type { Refusal } from '../dialect.ts'
import type { Provider } from '../provider.ts'
import { scrub } from '../scrub.ts'

const wordPattern = /^[A-Za-z0-9_.[\]-]{1,128}$/

const wordOf = (value: unknown): string | null => (typeof value === 'string' && wordPattern.test(value) ? value : null)

const secretsOf = ({ apiKey, baseUrl, headers = {} }: Provider): readonly string[] => {
  const { host, hostname } = new URL(baseUrl)
  return [apiKey, baseUrl, host, hostname, ...Object.values(headers)]
}

/** `{"error": {message, code, param}}`; some upstreams wrap it in a list, or tell a bare text. */
const errorIn = (json: unknown): unknown => {
  const body = Array.isArray(json) ? json[0] : json
  const error = isObject(body) ? body['error'] : undefined
  return typeof error === 'string' ? { ...(isObject(body) ? body : {}), message: error } : error
}

/** What the upstream says of the caller's request, without what it says of us; null where it is no error of the dialect. */
export const readRefusal = (provider: Provider, body: Uint8Array): Refusal | null => {
  const error = errorIn(parseJson(Buffer.from(body).toString()))
  if (!isObject(error)) return null
  const message = scrub(textOf(error['message']), secretsOf(provider))
  return {
    message: message === '' ? 'The upstream provider refused the request.' : message,
    code: wordOf(error['code']) ?? wordOf(error['type']),
    param: wordOf(error['param']),
  }
}
