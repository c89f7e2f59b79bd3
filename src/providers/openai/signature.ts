import { asObject, type JsonObject } from '../../encoding/json.ts'

/** Gemini's chat endpoint signs tool calls: a client that sends the call back whole sends the signature back too. */
export const readSignature = (call: JsonObject): string | null => {
  const { thought_signature } = asObject(asObject(call['extra_content'])['google'])
  return typeof thought_signature === 'string' ? thought_signature : null
}

export const writeSignature = (signature: string | null): JsonObject =>
  signature === null ? {} : { extra_content: { google: { thought_signature: signature } } }
