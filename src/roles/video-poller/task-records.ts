import { decideSettlement, isUnits, lateVerdict, type VideoVerdict } from '../../domain/video/settle.ts'
import type { Task } from '../../domain/video/task.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import type { FactOf } from '../../events/envelope.ts'
import type { LogOf } from '../../log/event-log.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Observer } from '../../runtime/observer.ts'
import type { VendorVerdict } from './next-step.ts'

export type PollerEvent = 'TaskSubmitted' | 'TaskProgressed' | 'TaskSettled' | 'LateVerdictSeen' | 'CallbackFailed'

export interface RecordParts {
  readonly log: Pick<LogOf<PollerEvent>, 'append'>
  readonly logger: Logger
  readonly observer: Observer
}

/** Keeps the figure and the outcome where the vendor's details beside them are invalid. */
const bareOf = <V extends VideoVerdict | VendorVerdict>(verdict: V): V => ({
  ...verdict,
  deduction: verdict.deduction !== null && isUnits(verdict.deduction) ? verdict.deduction : null,
  failReason: verdict.outcome === 'FAILURE' ? 'The video vendor could not make the video.' : null,
  vendorCode: null,
  results: [],
})

const record = async <V extends VideoVerdict>(
  { log, logger }: RecordParts,
  verdict: V,
  factOf: (verdict: V) => FactOf<'TaskSettled' | 'LateVerdictSeen'>,
): Promise<void> => {
  const fact = factOf(verdict)
  try {
    await log.append([fact])
  } catch (fault) {
    if (fault instanceof GatewayError) throw fault
    logger.log('video.verdict_invalid', { fault, taskId: fact.data.taskId })
    await log.append([factOf(bareOf(verdict))])
  }
}

/** Resolves once the log has acknowledged it, and rejects with `log_unavailable`. */
export const recordSettled = async (parts: RecordParts, task: Task, verdict: VideoVerdict): Promise<void> => {
  await record(parts, verdict, (reported) => decideSettlement(task, reported))
  const { taskId } = task
  const { outcome, results } = verdict
  parts.observer.taskSettled(outcome)
  parts.logger.log('video.task_settled', { taskId, outcome })
  if (outcome === 'SUCCESS' && results.length === 0) parts.logger.log('video.results_missing', { taskId })
}

export const recordLate = async (parts: RecordParts, task: Task, verdict: VendorVerdict): Promise<void> => {
  await record(parts, verdict, (reported) => lateVerdict(task, reported))
  const { taskId } = task
  parts.logger.log('video.verdict_late', { taskId, outcome: verdict.outcome })
}
