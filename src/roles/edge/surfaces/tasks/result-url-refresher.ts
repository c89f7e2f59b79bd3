import type { Key } from '../../../../domain/accounts/accounts.ts'
import type { Task } from '../../../../domain/video/task.ts'
import type { TaskResult } from '../../../../events/types.ts'
import { isExpired } from '../../../../providers/vv-video/signed-url.ts'
import type { Clock } from '../../../../runtime/clock.ts'
import type { Logger } from '../../../../runtime/logger.ts'
import { decodeResults } from '../../../task-results.ts'
import { candidateAt, type Inference } from '../inference/inference.ts'
import { surfaceLimits } from '../limits.ts'

export interface Requester {
  readonly requestId: string
  readonly key: Key
}

interface ResultUrlRefresherParts {
  readonly inference: Pick<Inference, 'query'>
  readonly clock: Clock
  readonly logger: Logger
}

/** A vendor's last results for a task. */
interface RefreshedResults {
  /** Null where the vendor returned none. */
  readonly results: readonly TaskResult[] | null
  readonly againMs: number
}

type Succeeded = Task & { readonly vendorTaskId: string }

/** A vendor signs result URLs for some time, and re-signs them on request. Results are held in memory only. */
export class ResultUrlRefresher {
  readonly #parts: ResultUrlRefresherParts
  /** By task, the oldest first. */
  readonly #known = new Map<string, RefreshedResults>()
  readonly #refreshing = new Map<string, Promise<void>>()

  constructor(parts: ResultUrlRefresherParts) {
    this.#parts = parts
  }

  /** Re-signs expired results; the task is unchanged where the vendor returns none within `resultRefreshMs`. */
  async refreshResults(task: Task, requester: Requester): Promise<Task> {
    if (!isSucceeded(task) || this.#areValid(task.results)) return task
    if (this.#isDue(task)) await this.#refreshOnce(task, requester)
    const results = this.#known.get(task.taskId)?.results ?? null
    return results === null ? task : { ...task, results }
  }

  #areValid(results: readonly TaskResult[]): boolean {
    const nowMs = this.#parts.clock()
    const haveExpired = results.some(
      ({ url, watermarkUrl = '' }) => isExpired(url, nowMs) || isExpired(watermarkUrl, nowMs),
    )
    return results.length > 0 && !haveExpired
  }

  #isDue({ taskId }: Task): boolean {
    const last = this.#known.get(taskId)
    if (last === undefined) return true
    if (last.results !== null && this.#areValid(last.results)) return false
    return this.#parts.clock() >= last.againMs
  }

  /** Concurrent polls of a task share one request to the vendor. */
  async #refreshOnce(task: Succeeded, requester: Requester): Promise<void> {
    const { taskId } = task
    const refreshing =
      this.#refreshing.get(taskId) ?? this.#refresh(task, requester).finally(() => this.#refreshing.delete(taskId))
    this.#refreshing.set(taskId, refreshing)
    await refreshing
  }

  async #refresh(task: Succeeded, requester: Requester): Promise<void> {
    const { clock, logger } = this.#parts
    const { taskId } = task
    const againMs = clock() + surfaceLimits.resultRefreshRetryMs
    try {
      this.#remember(taskId, { results: await this.#resultsOf(task, requester), againMs })
    } catch (fault) {
      logger.log('video.results_not_refreshed', { fault, taskId })
      this.#remember(taskId, { results: null, againMs })
    }
  }

  async #resultsOf({ kind, vendorTaskId, provider }: Succeeded, requester: Requester): Promise<readonly TaskResult[]> {
    const question = { type: 'get_video_task', kind, vendorTaskId } as const
    const query = { ...requester, surface: 'video', body: {}, question, candidate: candidateAt(provider) } as const
    const { bytes } = await this.#parts.inference.query(query, AbortSignal.timeout(surfaceLimits.resultRefreshMs))
    const pieces: Uint8Array[] = []
    for await (const piece of bytes) pieces.push(piece)
    return decodeResults(Buffer.concat(pieces))
  }

  #remember(taskId: string, last: RefreshedResults): void {
    this.#known.delete(taskId)
    this.#known.set(taskId, last)
    if (this.#known.size <= surfaceLimits.refreshedResultsMax) return
    const [oldest] = this.#known.keys()
    this.#known.delete(oldest!)
  }
}

const isSucceeded = (task: Task): task is Succeeded => task.status === 'SUCCESS' && task.vendorTaskId !== null
