import { Buffer } from 'node:buffer'
import type { JsonObject } from '../../src/encoding/json.ts'
import type { Output } from '../answers/output.ts'
import type { Asked } from '../http/dialect.ts'
import type { ChatRequest } from './request.ts'

export const headOf = (asked: Asked, request: ChatRequest, object: string): JsonObject => ({
  id: `chatcmpl-${asked.id}`,
  object,
  created: Math.floor(asked.at / 1000),
  model: asked.model,
  service_tier: asked.directives.service_tier ?? request.serviceTier,
  system_fingerprint: 'fp_sandbox',
})

export const callIdOf = (asked: Asked, choice: number, index: number): string => `call_${asked.id}_${choice}_${index}`

export const audioIdOf = (asked: Asked, choice: number): string => `audio_${asked.id}_${choice}`

const audioLifetimeSeconds = 3_600

export const audioExpiry = (asked: Asked): number => Math.floor(asked.at / 1000) + audioLifetimeSeconds

const audioBytesPerToken = 2_400

/** Silence, in base64. Of a whole number of three bytes a token, so that pieces joined are the whole. */
export const audioDataOf = (tokens: number): string => Buffer.alloc(tokens * audioBytesPerToken).toString('base64')

/** Only xAI shows any. */
export const shownReasoning = ({ directives }: Asked, output: Output): readonly string[] =>
  directives.profile === 'xai' ? output.reasoningText : []

export const finishReasonOf = (asked: Asked, output: Output): string =>
  asked.directives.finish_reason ?? output.finishReason
