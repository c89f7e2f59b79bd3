import { faultText } from '../../src/errors/gateway-error.ts'
import { adminRequest } from './admin-requests.ts'
import { exchange, type SimResponse } from './clients.ts'
import type { JournalEntry } from './end-checks.ts'
import { keyedTag } from './hosts.ts'
import type { IssuedKey, SimKeys } from './keys.ts'
import type { Observer } from './observer.ts'
import { runCommand } from './operator.ts'
import type { Action, AdminAction, ChatAction, CommandAction } from './plan.ts'
import { runIn, SimProcess } from './process.ts'
import { type Processes, restartMs } from './processes.ts'
import type { Simulator } from './simulator.ts'
import type { Note } from './trace.ts'
import type { VideoAction } from './video-plan.ts'
import { readTaskOf, submitOf, type VideoClients } from './videos.ts'

interface ActionsParts {
  readonly simulator: Simulator
  readonly processes: Processes
  readonly observer: Observer
  readonly keys: SimKeys
  readonly videos: VideoClients
  /** Requests by their status, which are counted. */
  readonly statuses: Map<number, number>
  readonly journal: JournalEntry[]
  /** When each key was revoked. */
  readonly revokedMs: ReadonlyMap<string, number>
  /** There is nothing that the gateway may fail for. */
  readonly isCalm: boolean
  /** There is nothing that may keep a request waiting, but a process that is gone. */
  readonly isSwift: boolean
  readonly note: Note
  readonly violate: (text: string) => void
}

export const adminToken = 'admin-token-of-the-simulation'
/** Statuses of a gateway that fails, or that cannot be reached. */
const unexplained: ReadonlySet<number> = new Set([0, 500, 503])
/** Served, or refused by what was asked of the edge. */
const admitted: ReadonlySet<number> = new Set([200, 401, 402, 403, 409])
/** The deadline of a request, and what its last steps take. */
const swiftAnswerMs = 25_000
/** An edge that is cut off works on for two seconds. */
const revokedUseMs = 4_000

/** What clients, administrators and operators do, and what must hold when they are answered. */
export class Actions {
  readonly #parts: ActionsParts

  constructor(parts: ActionsParts) {
    this.#parts = parts
  }

  async act(action: Action): Promise<void> {
    const edges = await this.#findEdges()
    const [process, port] = edges[Math.floor(this.#parts.simulator.random() * edges.length)]!
    if (action.type === 'command') await this.#command(action)
    else if (action.type === 'chat') await this.#chat(action, process, port)
    else if (action.type === 'video') await this.#submitVideo(action, process, port)
    else
      await Promise.all(
        edges.map(([, each]) => (each === port || action.isRepeated ? this.#administer(action, each) : undefined)),
      )
  }

  /** Where none listens, all try again until one does. */
  async #findEdges(): Promise<ReturnType<Processes['edges']>> {
    for (;;) {
      const edges = this.#parts.processes.edges()
      if (edges.length > 0) return edges
      const { time, random } = this.#parts.simulator
      await time.sleep(restartMs * (0.5 + random()))
    }
  }

  async #chat(action: ChatAction, edge: SimProcess, port: number): Promise<void> {
    const { number, stream, router, isRepeatable, leavesAfter, leavesAfterMs, maxTokens } = action
    const { secret, keyId } = this.#keyOf(action)
    const beganMs = this.#parts.simulator.time.nowMs
    const response = await exchange(this.#parts.simulator.network, port, {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: {
        authorization: `Bearer ${secret}`,
        ...(isRepeatable ? { 'idempotency-key': `key-${number}`, 'x-gateway-tags': `${keyedTag}=${number}` } : {}),
      },
      body: {
        model: router ? 'gateway/auto' : 'openai/plain',
        messages: [{ role: 'user', content: `Question #${number}` }],
        max_tokens: maxTokens,
        stream,
      },
      ...{ leavesAfter, leavesAfterMs },
    })
    const status = response?.status ?? 0
    this.#parts.note(
      'client',
      () => `request ${number} ended with ${status} ${response?.isComplete} ${JSON.stringify(response?.body)}`,
    )
    this.#parts.statuses.set(status, (this.#parts.statuses.get(status) ?? 0) + 1)
    this.#parts.journal.push({ action, response, edge })
    this.#checkServed(action, response, this.#parts.simulator.time.nowMs - beganMs)
    if (response !== null) this.#checkBilled(action, response)
    const sinceMs = beganMs - (this.#parts.revokedMs.get(keyId) ?? Number.POSITIVE_INFINITY)
    if (sinceMs > revokedUseMs && status === 200)
      this.#parts.violate(`request ${number} was served ${sinceMs} ms after its key ${keyId} was revoked`)
  }

  /** Without faults of the world the gateway has none: what a provider does is all that a request may fail for. */
  #checkServed(action: ChatAction, response: SimResponse | null, tookMs: number): void {
    const { number, leavesAfter, leavesAfterMs, router, attempts } = action
    const status = response?.status ?? 0
    const leaves = leavesAfter !== null || leavesAfterMs !== undefined
    const isLeft = leaves && status === 0
    const isAdmitted = admitted.has(status) || (status === 429 && this.#isRefusedByOwnLimit(response))
    // Before the first byte the next candidate is tried.
    if (this.#parts.isCalm && router && attempts[1] === 'answers' && !isAdmitted && !leaves)
      this.#parts.violate(`request ${number} ended with ${status}, and its second provider answers`)
    if (this.#parts.isSwift && tookMs > swiftAnswerMs)
      this.#parts.violate(`request ${number} took ${tookMs} ms, and nothing kept it`)
    if (this.#parts.isCalm && unexplained.has(status) && !isLeft)
      this.#parts.violate(`request ${number} ended with ${status}, and there was no fault: ${response?.body}`)
  }

  /** What a provider is asked is in the log before; what a limit of ours refuses is not. */
  #isRefusedByOwnLimit(response: SimResponse | null): boolean {
    return !this.#parts.observer.requests.has(response?.headers.get('x-request-id') ?? '')
  }

  #keyOf({ workspace, isLimitedKey, newKey }: Pick<ChatAction, 'workspace' | 'isLimitedKey' | 'newKey'>): IssuedKey {
    const keys = this.#parts.keys
    const drawn = newKey === null ? undefined : keys.draw(workspace, newKey)
    return drawn ?? (isLimitedKey ? keys.limited(workspace) : keys.first(workspace))
  }

  async #submitVideo(action: VideoAction, edge: SimProcess, port: number): Promise<void> {
    const { network, time } = this.#parts.simulator
    const { secret } = this.#keyOf({ ...action, newKey: null })
    const response = await exchange(network, port, { ...submitOf(action, secret), leavesAfter: null })
    this.#parts.note('client', () => `video ${action.number} ended with ${response?.status} ${response?.body}`)
    const taskId = this.#parts.videos.noteSubmit(action, response, edge)
    if (taskId === null) return
    for (const afterMs of action.readsAfterMs)
      time.scheduleFor(undefined, afterMs, () => void this.#readVideo(taskId, secret))
  }

  async #readVideo(taskId: string, secret: string): Promise<void> {
    const { network, random } = this.#parts.simulator
    const edges = this.#parts.processes.edges()
    const [, port] = edges[Math.floor(random() * edges.length)] ?? []
    if (port === undefined) return
    const response = await exchange(network, port, { ...readTaskOf(taskId, secret), leavesAfter: null })
    this.#parts.note('client', () => `task ${taskId} is ${response?.status} ${response?.body}`)
    this.#parts.videos.noteRead(taskId, response)
  }

  async #administer(action: AdminAction, port: number): Promise<void> {
    const request = adminRequest(action, this.#parts.keys, this.#parts.simulator.time.wallMs())
    if (request === null) return
    const headers = { authorization: `Bearer ${adminToken}` }
    const response = await exchange(this.#parts.simulator.network, port, { ...request, headers, leavesAfter: null })
    this.#parts.note('admin', () => `${action.type} ended with ${response?.status} ${response?.body.slice(0, 200)}`)
    // What expires so soon may have expired by the clock of the edge.
    if (response?.status === 400 && !Object.hasOwn(request.body, 'expires_at'))
      this.#parts.violate(`the admin API refuses ${action.type}: ${response.body}`)
    if (response?.isComplete && response.status < 300) this.#checkAdministered(action, request.path, response)
  }

  /** What was answered is in the log. */
  #checkAdministered(action: AdminAction, path: string, { body }: SimResponse): void {
    const { id, secret } = JSON.parse(body) as { readonly id: string; readonly secret: string }
    const isKey = action.type === 'issue_key' || action.type === 'rotate_key'
    if (isKey) this.#parts.keys.add(action.workspace, { keyId: id, secret })
    const name = isKey
      ? id
      : action.type === 'credit'
        ? action.reference
        : action.type === 'subscribe'
          ? action.id
          : null
    if (name !== null) this.#checkRecorded(action.type, name)
    if (action.type !== 'rotate_key') return
    const rotated = path.split('/').at(-2)!
    this.#parts.keys.rotate(action.workspace, rotated, { keyId: id, secret })
    this.#checkRecorded(action.type, `${rotated} by ${id}`)
  }

  #checkRecorded(type: string, name: string): void {
    if (!this.#parts.observer.known.has(name))
      this.#parts.violate(`${type} ${name} was answered, and is not in the log`)
  }

  /** No answer without its bill: it is in the log when the answer is complete. */
  #checkBilled({ number, stream }: ChatAction, response: SimResponse): void {
    const { status, headers, body, isComplete } = response
    const isWhole = isComplete && (!stream || body.includes('data: [DONE]'))
    if (status !== 200 || !isWhole || body.includes('data: {"error"')) return
    const requestId = headers.get('x-gateway-original-request-id') ?? headers.get('x-request-id') ?? ''
    const closing = this.#parts.observer.requests.get(requestId)?.closing
    if (closing?.type !== 'UsageRecorded')
      this.#parts.violate(`request ${number} (${requestId}) was answered without a bill`)
    else if (closing.data.source === 'reported' && closing.data.usage.outputTotal !== number)
      this.#parts.violate(`request ${number} (${requestId}) has the bill of ${closing.data.usage.outputTotal}`)
  }

  /** Until it was run to its end. */
  async #command(action: CommandAction): Promise<void> {
    const { time, network } = this.#parts.simulator
    for (let key: IssuedKey | null = null; key === null; ) {
      const process = new SimProcess('operator')
      const death = new Promise<null>((resolve) => process.onDeath(() => resolve(null)))
      key = await runIn(process, () =>
        Promise.race([runCommand(this.#parts.processes.startOf(process, 'operator'), action), death]),
      ).catch((fault: unknown) => {
        this.#parts.note('operator', () => `the command fails: ${faultText(fault)}`)
        return null
      })
      process.die()
      network.dropAll(process)
      if (key === null) await time.sleep(restartMs)
      else this.#parts.keys.add(action.workspace, key)
    }
    this.#checkRecorded(action.type, action.reference)
  }
}
