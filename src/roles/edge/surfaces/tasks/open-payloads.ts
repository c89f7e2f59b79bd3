import { GatewayError } from '../../../../errors/gateway-error.ts'
import type { LedgerTail } from '../../../../log/ledger-tail.ts'
import { Counts } from '../../../../runtime/fair-shares.ts'

interface Payload {
  readonly workspaceId: string
  readonly bytes: number
}

const retryAfterSeconds = 30

const tooMany = (max: number): GatewayError =>
  new GatewayError(
    'byte_limit_exceeded',
    `The requests of the workspace's open tasks may have ${max} bytes here. Send the request again when some have ended, or its images by URL.`,
    { retryAfterSeconds },
  )

/** The payloads that this edge has queued, of tasks that are open: the log's servers keep them on disk, for all workspaces. */
export class OpenPayloads {
  readonly #max: number
  readonly #byTask = new Map<string, Payload>()
  readonly #bytes = new Counts()
  readonly #stopListening: () => void

  constructor(tail: Pick<LedgerTail, 'onApplied'>, max: number) {
    this.#max = max
    this.#stopListening = tail.onApplied((applied) => {
      if (this.#byTask.size === 0) return
      for (const { movements } of applied)
        for (const { kind, reference } of movements) if (kind !== 'hold') this.remove(reference)
    })
  }

  add(taskId: string, workspaceId: string, bytes: number): void {
    if (this.#byTask.has(taskId)) return
    if (this.#bytes.of(workspaceId) + bytes > this.#max) throw tooMany(this.#max)
    this.#byTask.set(taskId, { workspaceId, bytes })
    this.#bytes.add(workspaceId, bytes)
  }

  remove(taskId: string): void {
    const payload = this.#byTask.get(taskId)
    if (payload === undefined) return
    this.#byTask.delete(taskId)
    this.#bytes.remove(payload.workspaceId, payload.bytes)
  }

  close(): void {
    this.#stopListening()
  }
}
