import fc from 'fast-check'
import { asObject, isObject } from '../../src/encoding/json.ts'
import type { documentedOperations } from '../support/documented-operations.ts'
import { invalidOf } from '../support/invalid-input.ts'
import type { Documented, Sent } from '../support/openapi-client.ts'
import { randomOf } from '../support/random.ts'
import { mutated, pick, type RawRequest } from './mutations.ts'

type Random = () => number
type World = Awaited<ReturnType<typeof documentedOperations>>

/** One request of a fuzz. */
export type FuzzRequest =
  /** As HTTP has it: its answer must be one of those that the document tells. */
  | { readonly type: 'documented'; readonly operation: Documented; readonly sent: Sent }
  /** Bytes, however wrong; the client leaves after so many of them, or stays. */
  | { readonly type: 'raw'; readonly bytes: Buffer; readonly leavesAfter: number | null }
  /** To the listener of operators. */
  | { readonly type: 'observe'; readonly bytes: Buffer }

const values = 2_000
/** Of all, for what a key may ask and what may cost money. */
const spendingShare = 0.3

/** Whatever JSON can say, odd texts and deep nests included. */
const jsonValues = (seed: number): readonly unknown[] =>
  fc.sample(fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' }), { seed, numRuns: values })

const isStreamed = ({ template }: Documented): boolean =>
  ['/v1/chat/completions', '/v1/messages', '/v1/responses'].includes(template)

const withMembers = (sent: Sent, members: object): Sent => ({
  ...sent,
  body: JSON.stringify({ ...asObject(JSON.parse(String(sent.body))), ...members }),
})

const rawOf = ({ method }: Documented, { path, headers, body }: Sent) => ({
  method,
  target: path,
  headers: Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  body: Buffer.from(body ?? ''),
})

const boundary = 'a-boundary'
const partOf = ([name, value]: readonly [string, unknown]): string =>
  `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${isObject(value) ? JSON.stringify(value) : value}\r\n`

/** The same request as a form. */
const asForm = (sent: Sent): Sent => ({
  ...sent,
  headers: { ...sent.headers, 'content-type': `multipart/form-data; boundary=${boundary}` },
  body: `${Object.entries(asObject(JSON.parse(String(sent.body))))
    .map(partOf)
    .join('')}--${boundary}--\r\n`,
})

/** What the document does not tell of. */
const pages = ['/dashboard', '/dashboard/', '/dashboard/index.html', '/dashboard/main.js', '/dashboard/vendor/uplot.js']
const observed = ['/metrics', '/healthz', '/readyz', '/', '/metrics?x=1', '/../metrics']

const bareGet = (targets: readonly string[], random: Random): RawRequest => ({
  method: 'GET',
  target: pick(random, targets),
  headers: [],
  body: Buffer.alloc(0),
})

/** Every request of a fuzz by its number alone: with the same seed the same, but for the ids of what was made to be asked for. */
export class FuzzRequests {
  readonly #seed: number
  readonly #world: World
  readonly #valid: readonly (readonly [Documented, Sent])[]
  readonly #spending: readonly (readonly [Documented, Sent])[]
  readonly #values: readonly unknown[]

  private constructor(seed: number, world: World, valid: readonly (readonly [Documented, Sent])[]) {
    this.#seed = seed
    this.#world = world
    this.#valid = valid
    this.#spending = valid.filter(([{ scheme, bodySchema }]) => scheme === 'key' && bodySchema !== null)
    this.#values = jsonValues(seed)
  }

  /** Makes first what the operations are asked for. */
  static async open(seed: number, world: World): Promise<FuzzRequests> {
    const valid: [Documented, Sent][] = []
    for (const operation of world.client.operations)
      for (const sent of world.onEveryModel(operation, await world.validOf(operation))) valid.push([operation, sent])
    return new FuzzRequests(seed, world, valid)
  }

  at(index: number): FuzzRequest {
    const random = randomOf(this.#seed * 1_000_003 + index)
    const [operation, valid] = pick(random, random() < spendingShare ? this.#spending : this.#valid)
    const kind = random()
    if (kind < 0.005) return { type: 'observe', bytes: mutated(bareGet(observed, random), random) }
    if (kind < 0.01) return { type: 'raw', bytes: mutated(bareGet(pages, random), random), leavesAfter: null }
    if (kind < 0.15) return { type: 'documented', operation, sent: this.#varied(operation, valid, random) }
    if (kind < 0.25 && operation.bodySchema !== null)
      return { type: 'documented', operation, sent: this.#withValues(valid, random) }
    if (kind < 0.6) {
      const { sent } = invalidOf(this.#world.client, operation, valid, this.#world.credentialsOf(operation), random)
      return { type: 'documented', operation, sent }
    }
    const form = operation.template === '/v1/videos' && operation.bodySchema !== null && random() < 0.7
    const base = form ? asForm(valid) : this.#varied(operation, valid, random)
    const bytes = mutated(rawOf(operation, base), random)
    const leavesAfter = random() < 0.08 ? Math.floor(random() * bytes.length * 1.5) : null
    return { type: 'raw', bytes, leavesAfter }
  }

  /** A request that is served, a stream and a named one among them. */
  #varied(operation: Documented, valid: Sent, random: Random): Sent {
    const streamed = isStreamed(operation) && random() < 0.5 ? withMembers(valid, { stream: true }) : valid
    const hasKey = operation.parameters.some(({ name }) => name === 'Idempotency-Key')
    if (!hasKey || random() < 0.7) return streamed
    return { ...streamed, headers: { ...streamed.headers, 'Idempotency-Key': `key-${Math.floor(random() * 500)}` } }
  }

  /** A body of any JSON, or with it in the place of a member. */
  #withValues(valid: Sent, random: Random): Sent {
    const value = pick(random, this.#values)
    const members = Object.keys(asObject(JSON.parse(String(valid.body))))
    if (members.length === 0 || random() < 0.3) return { ...valid, body: JSON.stringify(value) }
    return withMembers(valid, { [pick(random, members)]: value })
  }
}
