import { setImmediate as turn } from 'node:timers/promises'

/** Counts work that was done; returns a promise to wait for whenever a slice of it is full, so that other work runs. */
export const yieldEvery = (slice: number): ((work: number) => Promise<void> | undefined) => {
  let done = 0
  return (work) => {
    done += work
    if (done < slice) return undefined
    done = 0
    return turn()
  }
}
