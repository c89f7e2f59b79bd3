import t from 'tap'

type End = () => Promise<unknown>

let ends: End[] | null = null

/** Runs once all specs of the process have ended, for what they share; of a spec that runs alone, with its teardown. */
export const atSuiteEnd = (end: End): void => {
  if (ends === null) t.teardown(end)
  else ends.push(end)
}

/** Not by a teardown of the process's test: with one, tap ends it as soon as no test is waiting, also between two specs. */
export const beginSuite = (): void => {
  ends = []
}

export const endSuite = async (): Promise<void> => {
  for (const end of ends?.reverse() ?? []) await end()
}
