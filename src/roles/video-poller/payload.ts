import { createHash } from 'node:crypto'
import type { TaskPayload } from '../../domain/video/request.ts'
import { asObject, asText, parseJson } from '../../encoding/json.ts'

const decoder = new TextDecoder()

/** The text is a caller's: an error must not quote it. */
const parsePayload = (text: string): TaskPayload | null => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The request as it was submitted; null where the bytes are missing or do not match the order's digest. */
export const readPayload = (bytes: Uint8Array | null, digest: string): TaskPayload | null => {
  if (bytes === null || createHash('sha256').update(bytes).digest('hex') !== digest) return null
  return parsePayload(decoder.decode(bytes))
}

export const readWorkspaceId = (bytes: Uint8Array | null): string | null =>
  (bytes === null ? '' : asText(asObject(parseJson(decoder.decode(bytes)))['workspaceId'])) || null
