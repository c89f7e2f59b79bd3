export const realImmediate = globalThis.setImmediate

type Schedule = (run: () => void) => unknown

/** Where the thread's own immediates go while a world is simulated. */
let schedule: Schedule | null = null
const pending = new Set<() => void>()

// A module that takes `setImmediate` when it is loaded keeps state of the thread, which all simulated processes share: what it
// schedules happens, whichever of them dies.
globalThis.setImmediate = ((callback: (...values: unknown[]) => void, ...values: unknown[]) => {
  if (schedule === null) return realImmediate(callback, ...values)
  const run = (): void => {
    if (pending.delete(run)) callback(...values)
  }
  pending.add(run)
  return schedule(run)
}) as typeof globalThis.setImmediate

/** Returns the function that runs what is pending, until the thread is as it was, and goes back to real ones. */
export const takeThreadImmediates = (into: Schedule): (() => void) => {
  schedule = into
  return () => {
    while (pending.size > 0) for (const run of pending) run()
    schedule = null
  }
}
