import type { UpstreamFormat } from '../canonical/format.ts'
import { GenerateContentReader } from './reader.ts'
import { readGoogleError } from './refusal.ts'
import { readGenerateContentReply } from './reply.ts'
import { generateContentRequest } from './request.ts'

/** Google's own dialect, `generateContent`: no other reports searches. */
export const googleUpstream: UpstreamFormat = {
  writeRequest: generateContentRequest,
  readReply: readGenerateContentReply,
  openReader: (target) => new GenerateContentReader(target),
  readRefusal: readGoogleError,
}
