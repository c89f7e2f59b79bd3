import type { UpstreamFormat } from '../canonical/format.ts'
import { GenerateContentReader } from './reader.ts'
import { readRefusal } from './refusal.ts'
import { readReply } from './reply.ts'
import { generateContentRequest } from './request.ts'

/** Google's own dialect, `generateContent`: only there searches are told. */
export const googleUpstream: UpstreamFormat = {
  writeRequest: generateContentRequest,
  readReply,
  openReader: (target) => new GenerateContentReader(target),
  readRefusal,
}
