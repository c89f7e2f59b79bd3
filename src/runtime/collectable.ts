import { finishSteps, takeSteps } from '../encoding/steps.ts'
import { runWhereLarge } from './large-steps.ts'
import { sharedLimits } from './limits.ts'

/**
 * A value larger than what it is made from: where that is large, the collector may take the value between two reads, and it
 * is made again. A small one is kept: a weak reference costs more.
 */
export class Collectable<Value> {
  /** Of what it is made from. */
  readonly bytesLength: number
  readonly #make: () => Generator<void, Value>
  readonly #kept: { readonly value: Value } | undefined
  #made: WeakRef<Value & object> | undefined

  constructor(make: () => Generator<void, Value>, bytesLength: number, value: Value) {
    this.bytesLength = bytesLength
    this.#make = make
    if (bytesLength > sharedLimits.turnBytes && isReferable(value)) this.#made = new WeakRef(value)
    else this.#kept = { value }
  }

  get isKept(): boolean {
    return this.#kept !== undefined
  }

  get value(): Value {
    return this.#kept === undefined ? finishSteps(this.steps()) : this.#kept.value
  }

  /** Returns the value; to make it again takes many. */
  *steps(): Generator<void, Value> {
    const existing = this.#kept?.value ?? this.#made?.deref()
    if (existing !== undefined) return existing
    const value = yield* this.#make()
    if (isReferable(value)) this.#made = new WeakRef(value)
    return value
  }
}

const isReferable = <Value>(value: Value): value is Value & object => typeof value === 'object' && value !== null

/**
 * Large values are made in steps, and then used in one: `use` finds the value as it is, and from then on nothing here
 * refers to it.
 */
export const useMade = async <Value, Result>(
  size: Parameters<typeof runWhereLarge>[0],
  made: Pick<Collectable<Value>, 'steps'>,
  use: (value: Value) => Result,
): Promise<Awaited<Result>> => {
  const held = [await takeSteps(made.steps(), (step) => runWhereLarge(size, step))]
  return await runWhereLarge(size, () => use(held.pop() as Value))
}
