import { asObject, type JsonObject } from '../../encoding/json.ts'

/** The signature of a tool call, where Gemini's own chat endpoint has it: a client that gives the call back whole gives it back too. */
export const readSignature = (call: JsonObject): string | null => {
  const { thought_signature } = asObject(asObject(call['extra_content'])['google'])
  return typeof thought_signature === 'string' ? thought_signature : null
}

export const writeSignature = (signature: string | null): JsonObject =>
  signature === null ? {} : { extra_content: { google: { thought_signature: signature } } }
