import { type DocumentedGateway, documentedOperations } from '../support/documented-operations.ts'
import type { Received } from '../support/openapi-client.ts'
import { injectedHeader } from './mutations.ts'
import { type FuzzRequest, FuzzRequests } from './requests.ts'
import { exchangeBytes, KeptConnections } from './sending.ts'

export interface Fuzz {
  readonly gateway: DocumentedGateway
  readonly observeUrl: string
  readonly seed: number
  /** Within it every request is answered, or its connection ended. */
  readonly answerMs: number
}

type DocumentedRequest = Extract<FuzzRequest, { type: 'documented' }>
/** What of an answer the document does not tell. */
type Undocumented = (request: DocumentedRequest, received: Received) => string

const clientsAtOnce = 64
/** Of one run; the others are counted. */
const faultsMax = 20

const shown = (request: FuzzRequest): string =>
  request.type === 'documented'
    ? `${request.operation.method} ${request.sent.path} ${String(request.sent.body ?? '').slice(0, 300)}`
    : JSON.stringify(request.bytes.toString('latin1').slice(0, 600))

const injected = new RegExp(`^${injectedHeader}:`, 'im')

/** Sends the requests of a seed, and notes what none of them may do. */
export class FuzzRun {
  /** By kind of request and status; `none` where the connection ended without an answer. */
  readonly statuses = new Map<string, number>()
  readonly faults: string[] = []
  faultsCount = 0
  readonly #fuzz: Fuzz
  readonly #requests: FuzzRequests
  readonly #undocumented: Undocumented
  readonly #kept: KeptConnections
  readonly #port: number
  readonly #observePort: number

  private constructor(fuzz: Fuzz, requests: FuzzRequests, undocumented: Undocumented) {
    this.#fuzz = fuzz
    this.#requests = requests
    this.#undocumented = undocumented
    this.#kept = new KeptConnections(fuzz.gateway.url)
    this.#port = Number(new URL(fuzz.gateway.url).port)
    this.#observePort = Number(new URL(fuzz.observeUrl).port)
  }

  static async open(fuzz: Fuzz): Promise<FuzzRun> {
    const world = await documentedOperations(fuzz.gateway)
    const undocumented: Undocumented = ({ operation }, received) => world.client.undocumented(operation, received)
    return new FuzzRun(fuzz, await FuzzRequests.open(fuzz.seed, world), undocumented)
  }

  /** Sends those from one number up to another, some at once. */
  async send(from: number, to: number): Promise<void> {
    let next = from
    const client = async (): Promise<void> => {
      while (next < to) {
        const index = next
        next += 1
        await this.#sendOne(index)
      }
    }
    await Promise.all(Array.from({ length: clientsAtOnce }, client))
  }

  stop(): Promise<void> {
    return this.#kept.stop()
  }

  async #sendOne(index: number): Promise<void> {
    const request = this.#requests.at(index)
    const fault = request.type === 'documented' ? await this.#sendDocumented(request) : await this.#sendBytes(request)
    if (fault === '') return
    this.faultsCount += 1
    if (this.faults.length < faultsMax) this.faults.push(`request ${index}: ${fault}\n  ${shown(request)}`)
  }

  async #sendDocumented(request: DocumentedRequest): Promise<string> {
    try {
      const received = await this.#kept.send(request.operation, request.sent, this.#fuzz.answerMs)
      this.#count('documented', received.status)
      return this.#undocumented(request, received)
    } catch (fault) {
      return `no whole answer: ${fault instanceof Error ? fault.message : fault}`
    }
  }

  async #sendBytes(request: Exclude<FuzzRequest, DocumentedRequest>): Promise<string> {
    const port = request.type === 'raw' ? this.#port : this.#observePort
    const leavesAfter = request.type === 'raw' ? request.leavesAfter : null
    const { text, statuses, hung } = await exchangeBytes(port, request.bytes, leavesAfter, this.#fuzz.answerMs)
    for (const status of statuses.length === 0 ? ['none'] : statuses) this.#count(request.type, status)
    if (hung) return 'neither an answer nor the end of the connection'
    if (statuses.includes(500)) return text
    return injected.test(text) ? `a header of the client's own: ${text}` : ''
  }

  #count(type: FuzzRequest['type'], status: number | string): void {
    const key = `${type} ${status}`
    this.statuses.set(key, (this.statuses.get(key) ?? 0) + 1)
  }
}
