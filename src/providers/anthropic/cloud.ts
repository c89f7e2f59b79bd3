import { asObject, asText, type JsonObject } from '../../encoding/json.ts'

/** Clouds have none of these, and refuse what they do not know. */
const directMembers: readonly string[] = ['model', 'service_tier', 'inference_geo', 'metadata', 'user_profile_id']

/** A request's body as clouds take it: the model is in the address, and the version here. */
export const cloudBody = (body: object, version: string): Record<string, unknown> => ({
  anthropic_version: version,
  ...Object.fromEntries(Object.entries(body).filter(([member]) => !directMembers.includes(member))),
})

export const betasIn = (headers: Readonly<Record<string, string>> = {}): readonly string[] =>
  (headers['anthropic-beta'] ?? '')
    .split(',')
    .map((beta) => beta.trim())
    .filter((beta) => beta !== '')

export const isMessagesError = (json: unknown): json is JsonObject =>
  asObject(json)['type'] === 'error' && asText(asObject(asObject(json)['error'])['type']) !== ''
