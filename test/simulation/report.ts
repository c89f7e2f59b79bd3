export interface Report {
  readonly violations: readonly string[]
  readonly simulatedMs: number
  readonly steps: number
  readonly frames: number
  readonly portCalls: ReadonlyMap<string, number>
  readonly crashes: ReadonlyMap<string, number>
  /** Actions that moved money or a limit of it, as the log has them. */
  readonly moves: number
  /** Requests by their status; 0 for none. */
  readonly statuses: ReadonlyMap<number, number>
  /** Of the log, and of the processes' own logs, by type and code. */
  readonly events: ReadonlyMap<string, number>
}

export interface RunOptions {
  /** Each line of what happens: the same plan gives the same. */
  readonly trace?: (line: string) => void
  /** What follows the first violation does not matter. */
  readonly endsAtViolation?: boolean
}
