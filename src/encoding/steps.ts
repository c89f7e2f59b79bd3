/** Decides when a step is done. */
export type RunStep = <Result>(step: () => Result) => Result | Promise<Awaited<Result>>

/** Resolves with what the generator returns: from one `yield` to the next is a step. */
export const takeSteps = async <Result>(steps: Generator<void, Result>, run: RunStep): Promise<Result> => {
  for (;;) {
    const { done, value } = await run(() => steps.next())
    if (done === true) return value
  }
}

/** As `takeSteps`, at once. */
export const finishSteps = <Result>(steps: Generator<void, Result>): Result => {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}
