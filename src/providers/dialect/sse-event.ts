import { asText, type JsonObject } from '../../encoding/json.ts'

/** Named by its `type`: clients of the official SDK dispatch on the name. */
export const sseEvent = (json: JsonObject): string =>
  `event: ${asText(json['type'])}\ndata: ${JSON.stringify(json)}\n\n`
