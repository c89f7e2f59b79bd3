import { asText, isObject, type JsonObject } from '../../encoding/json.ts'
import { providerLimits } from '../dialect/limits.ts'
import type { Provider } from '../dialect/provider.ts'
import { errorWord, refusalText } from '../dialect/refusal-text.ts'

/** Members that are of the failure; the client got the others at the start of the stream. */
const essentials = ['id', 'error', 'incomplete_details', 'usage'] as const

const scrubError = ({ code, message }: JsonObject, provider: Provider): JsonObject => ({
  code: errorWord(code) ?? 'server_error',
  message: refusalText(asText(message), provider),
})

/** The failed response as far as an `error` event has it, in either spelling. */
export const readErrorEvent = (event: JsonObject, provider: Provider): JsonObject => ({
  error: scrubError(isObject(event['error']) ? event['error'] : event, provider),
})

/** A failed response, scrubbed; only its essentials where it is too large to be sent to an edge. */
export const readFailedResponse = (response: JsonObject, provider: Provider): JsonObject => {
  const { error, ...rest } = response
  const failed: JsonObject = isObject(error) ? { ...rest, error: scrubError(error, provider) } : rest
  if (JSON.stringify(failed).length <= providerLimits.failedResponseCharactersMax) return failed
  return Object.fromEntries(essentials.filter((name) => name in failed).map((name) => [name, failed[name]]))
}
