/** Decides when a step is done. */
export type RunStep = <Result>(step: () => Result) => Result | Promise<Awaited<Result>>

const stepMs = 8
let stepEndsMs = Number.POSITIVE_INFINITY

/** True where a generator should yield: items differ in how long they take by a million times. */
export const isStepLong = (): boolean => stepEndsMs !== Number.POSITIVE_INFINITY && performance.now() >= stepEndsMs

const takeStep = <Result>(steps: Generator<void, Result>): IteratorResult<void, Result> => {
  stepEndsMs = performance.now() + stepMs
  try {
    return steps.next()
  } finally {
    stepEndsMs = Number.POSITIVE_INFINITY
  }
}

/** Resolves with what the generator returns: from one `yield` to the next is a step. */
export const takeSteps = async <Result>(steps: Generator<void, Result>, run: RunStep): Promise<Result> => {
  for (;;) {
    const { done, value } = await run(() => takeStep(steps))
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

/** Each takes some microseconds, and the step a few milliseconds. */
const itemsPerStep = 1_000

export function* eachInSteps<Item>(
  items: readonly Item[],
  take: (item: Item, place: number) => void,
): Generator<void, void> {
  for (let place = 0; place < items.length; place += 1) {
    if (place > 0 && (place % itemsPerStep === 0 || isStepLong())) yield
    take(items[place]!, place)
  }
}

/** As `eachInSteps`, of items that take steps of their own. */
export function* stepsOfEach<Item>(
  items: readonly Item[],
  take: (item: Item, place: number) => Generator<void, unknown>,
): Generator<void, void> {
  for (let place = 0; place < items.length; place += 1) {
    if (place > 0 && (place % itemsPerStep === 0 || isStepLong())) yield
    yield* take(items[place]!, place)
  }
}

export function* mapInSteps<Item, Mapped>(
  items: readonly Item[],
  map: (item: Item, place: number) => Mapped,
): Generator<void, readonly Mapped[]> {
  const mapped: Mapped[] = []
  yield* eachInSteps(items, (item, place) => {
    mapped.push(map(item, place))
  })
  return mapped
}

export function* flatMapInSteps<Item, Mapped>(
  items: readonly Item[],
  map: (item: Item, place: number) => readonly Mapped[],
): Generator<void, Mapped[]> {
  const mapped: Mapped[] = []
  yield* eachInSteps(items, (item, place) => {
    for (const each of map(item, place)) mapped.push(each)
  })
  return mapped
}
