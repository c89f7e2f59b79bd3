import { type Applied, initialLedger } from '../domain/ledger/ledger.ts'
import type { SpendingHolders } from '../domain/wallet/spending.ts'
import { type EventOf, writerOf } from '../events/envelope.ts'
import { lostWritersReadModel } from '../projections/lost-writers/project.ts'
import { deliveryMs } from '../projections/lost-writers/queries.ts'
import { storedText } from '../projections/schema/stored-text.ts'
import { type FoldSource, foldLog } from './fold-log.ts'

interface UnknownCharge {
  readonly routed: EventOf<'RequestRouted'>
  readonly bill: EventOf<'UsageRecorded'>
  readonly spender: SpendingHolders | null
}

const chargeOf = ({ closed, movements }: Applied, requestId: string): UnknownCharge | null =>
  closed?.closing.type === 'UsageRecorded' && closed.closing.data.requestId === requestId
    ? { routed: closed.routed, bill: closed.closing, spender: movements[0]?.spender ?? null }
    : null

type WriterRows = ReturnType<ReturnType<typeof lostWritersReadModel.startBatch>['finish']>['written']

const isUnknown = ({ routed, bill }: UnknownCharge, { writer_activity, lost_writers }: WriterRows): boolean => {
  const edge = storedText(writerOf(routed))
  const seen = writer_activity.find(({ writer }) => writer === edge)
  const lost = lost_writers.find(({ writer }) => writer === edge)
  if (seen === undefined || lost === undefined || bill.data.total === '0') return false
  const [seenMs, lostMs, billedMs] = [seen.seen_at, lost.lost_at, bill.time].map((time) => Date.parse(time))
  return seenMs! < lostMs! && billedMs! >= seenMs! - deliveryMs && billedMs! <= lostMs!
}

/**
 * The charge of a request whose edge ended without a shutdown about then, by the log alone; null where there is no such
 * charge, or its edge lived on. The tables list the same.
 */
export const findUnknownDelivery = async (log: FoldSource, requestId: string): Promise<UnknownCharge | null> => {
  const ledger = initialLedger()
  const writers = lostWritersReadModel.startBatch()
  let charge: UnknownCharge | null = null
  for await (const applied of foldLog(log, ledger))
    for (const each of applied) {
      writers.addEvent(each)
      charge ??= chargeOf(each, requestId)
    }
  return charge !== null && isUnknown(charge, writers.finish(ledger).written) ? charge : null
}
