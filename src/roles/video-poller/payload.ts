import { createHash } from 'node:crypto'
import type { TaskPayload } from '../../domain/video/request.ts'
import { asObject, asText, parseJson } from '../../encoding/json.ts'

const decoder = new TextDecoder()

/** What stands in the text is a caller's: it is not quoted where it cannot be read. */
const parsePayload = (text: string): TaskPayload | null => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The request as it was ordered; null where the bytes are gone, or are not what the order's digest says. */
export const readPayload = (bytes: Uint8Array | null, digest: string): TaskPayload | null => {
  if (bytes === null || createHash('sha256').update(bytes).digest('hex') !== digest) return null
  return parsePayload(decoder.decode(bytes))
}

/** Whose task it is, by its payload alone; null where that cannot be told. */
export const readWorkspaceId = (bytes: Uint8Array | null): string | null =>
  (bytes === null ? '' : asText(asObject(parseJson(decoder.decode(bytes)))['workspaceId'])) || null
