import { asObject, asText, parseJsonBytes } from '../../encoding/json.ts'
import { isMessagesError } from '../anthropic/cloud.ts'
import { readMessagesError } from '../anthropic/refusal.ts'
import type { UpstreamRefusal } from '../dialect/dialect.ts'
import type { Provider } from '../dialect/provider.ts'
import { refusalText } from '../dialect/refusal-text.ts'

/** Of the model that is configured, of its region, or of our account. */
const configurationMessages =
  /model identifier|on-demand throughput|inference profile|foundation model|end of its life|access to the model|service quota|not supported in (?:this|the) region|unable to determine service\/operation/i

const tooLong =
  /\b(?:input|prompt) is too long\b|\btoo many (?:input |total )?tokens\b|\bexceeds? (?:the )?(?:model's )?(?:maximum )?context\b/i

/** Null where our configuration is wrong. */
export const readBedrockError = (provider: Provider, body: Uint8Array): UpstreamRefusal | null => {
  const json = parseJsonBytes(body)
  if (isMessagesError(json)) return readMessagesError(provider, body)
  const { message, Message: alternative = message } = asObject(json)
  const text = asText(alternative)
  if (text === '' || configurationMessages.test(text)) return null
  return {
    message: refusalText(text, provider),
    code: tooLong.test(text) ? 'context_length_exceeded' : null,
    param: null,
  }
}
