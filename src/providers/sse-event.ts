import { asText, type JsonObject } from '../encoding/json.ts'

/** An event named by its `type`: clients of the official SDK go by the name. */
export const sseEvent = (json: JsonObject): string =>
  `event: ${asText(json['type'])}\ndata: ${JSON.stringify(json)}\n\n`
