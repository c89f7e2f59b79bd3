import { cliLimits } from './command-limits.ts'

/** How a place for a process has fared: how often in a row its process ended soon after its start. */
interface RestartHistory {
  readonly earlyEnds: number
}

export const noRestarts: RestartHistory = { earlyEnds: 0 }

/** `livedMs`: from its start to its end. */
export const noteEnd = ({ earlyEnds }: RestartHistory, livedMs: number): RestartHistory =>
  livedMs < cliLimits.steadyMs ? { earlyEnds: earlyEnds + 1 } : noRestarts

/** The first process that ends early is replaced at once: it may have been killed. */
export const restartDelayMs = ({ earlyEnds }: RestartHistory): number =>
  earlyEnds < 2 ? 0 : Math.min(cliLimits.restartDelayMs * 2 ** (earlyEnds - 2), cliLimits.restartDelayMsMax)
