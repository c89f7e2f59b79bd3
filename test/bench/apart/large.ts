import { listenerLimits } from '../../../src/roles/edge/http/limits.ts'
import type { BenchProcess } from '../child.ts'
import type { Gateway } from '../installation.ts'
import { ordinaryShape } from '../shape.ts'
import type { LargeQuestion, LargeResult } from './large-client.ts'
import { type Memories, watchMemory } from './memory.ts'
import { addressOf } from './rounds.ts'

const beside = 1_024 // Bytes of a body that are no prompt, and room.
/** Characters of one byte each: a request's body just fits. */
export const largeCharacters = listenerLimits.requestBodyBytesMax - beside

const request = { promptCharacters: largeCharacters, answerCharacters: ordinaryShape.characters }
const answer = { promptCharacters: ordinaryShape.characters, answerCharacters: largeCharacters }

const steps = [
  { what: 'request', ...request, requests: 4, atOnce: 1 },
  { what: 'request', ...request, requests: 8, atOnce: 8 },
  { what: 'request', ...request, requests: 24, atOnce: 8 },
  { what: 'answer', ...answer, requests: 4, atOnce: 1 },
  { what: 'answer', ...answer, requests: 8, atOnce: 8 },
  { what: 'answer', ...answer, requests: 24, atOnce: 8 },
] as const

export interface LargeStep extends LargeResult {
  readonly what: (typeof steps)[number]['what']
  readonly requests: number
  readonly atOnce: number
  readonly memory: Memories
}

/** Requests and answers of 20 MB, one after another and several at once. */
export async function* measureLarge(client: BenchProcess, gateway: Gateway): AsyncGenerator<LargeStep> {
  for (const { what, ...step } of steps) {
    const question: LargeQuestion = { ...step, ...addressOf(gateway) }
    const { found, memory } = await watchMemory(gateway.pids, () => client.ask<LargeResult>(question))
    yield { what, requests: step.requests, atOnce: step.atOnce, ...found, memory }
  }
}
