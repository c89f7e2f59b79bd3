import { setTimeout as delay } from 'node:timers/promises'
import { sharedLimits } from '../runtime/limits.ts'

/** Polls every `embeddedPollMs`; true once the condition holds, false after `timeoutMs` or when `signal` fires. */
export const pollUntil = async (
  condition: () => boolean | Promise<boolean>,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<boolean> => {
  const deadline = AbortSignal.timeout(timeoutMs)
  while (!deadline.aborted && !signal?.aborted) {
    if (await condition()) return true
    await delay(sharedLimits.embeddedPollMs)
  }
  return false
}
