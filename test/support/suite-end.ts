import t from 'tap'

/** Of the process: `runSpecs`, which loads this first, gives each spec a teardown of its own. */
const { teardown } = t

/** Runs once all specs of the process have ended, for what they share. */
export const atSuiteEnd = (end: () => Promise<unknown>): void => {
  teardown.call(t, end)
}
