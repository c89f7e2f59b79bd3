import { asText, isObject, parseJsonBytes } from '../../encoding/json.ts'
import type { UpstreamRefusal } from '../dialect/dialect.ts'
import type { Provider } from '../dialect/provider.ts'
import { errorWord, refusalText } from '../dialect/refusal-text.ts'

/** `{"error": {message, code, param}}`; some upstreams wrap it in a list, or send a bare text. */
const errorIn = (json: unknown): unknown => {
  const body = Array.isArray(json) ? json[0] : json
  const error = isObject(body) ? body['error'] : undefined
  return typeof error === 'string' ? { ...(isObject(body) ? body : {}), message: error } : error
}

export const readOpenAIError = (provider: Provider, body: Uint8Array): UpstreamRefusal | null => {
  const error = errorIn(parseJsonBytes(body))
  if (!isObject(error)) return null
  return {
    message: refusalText(asText(error['message']), provider),
    code: errorWord(error['code'], provider) ?? errorWord(error['type'], provider),
    param: errorWord(error['param'], provider),
  }
}
