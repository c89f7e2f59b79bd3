import type { PollerBounds } from './bounds.ts'
import { pollerLimits } from './limits.ts'

/** From 0 to 1. */
export type PaceRandom = () => number

const pollSpread = 0.1

/** What is old is asked for seldom; no two tasks keep step. */
const spaced = (ageMs: number, leastMs: number, mostMs: number, random: PaceRandom): number => {
  const delayMs = Math.min(mostMs, Math.max(leastMs, ageMs / pollerLimits.taskPollAgeDivisor))
  return delayMs * (1 - pollSpread + 2 * pollSpread * random())
}

/** Until the next poll of a task that the vendor took `ageMs` ago. */
export const pollDelayMs = (
  ageMs: number,
  { taskPollMs, taskPollMaxMs }: Pick<PollerBounds, 'taskPollMs' | 'taskPollMaxMs'>,
  random: PaceRandom,
): number => spaced(ageMs, taskPollMs, taskPollMaxMs, random)

/** Until the vendor is asked again about a task whose hold ended `ageMs` ago. */
export const latePollDelayMs = (
  ageMs: number,
  { latePollMs, latePollMaxMs }: Pick<PollerBounds, 'latePollMs' | 'latePollMaxMs'>,
  random: PaceRandom,
): number => spaced(ageMs, latePollMs, latePollMaxMs, random)

/** Until the next try, after `troubles` in a row, the last of which may have named its own delay. */
export const retryDelayMs = (
  troubles: number,
  retryAfterMs: number | null,
  {
    taskRetryMs,
    taskRetryMaxMs,
    taskRetryAfterMaxMs,
  }: Pick<PollerBounds, 'taskRetryMs' | 'taskRetryMaxMs' | 'taskRetryAfterMaxMs'>,
  random: PaceRandom,
): number => {
  const backOffMs = Math.min(taskRetryMaxMs, taskRetryMs * 2 ** Math.min(troubles - 1, 30)) * (0.5 + random() / 2)
  return Math.max(backOffMs, Math.min(retryAfterMs ?? 0, taskRetryAfterMaxMs) * (1 + pollSpread * random()))
}
