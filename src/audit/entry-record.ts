import { formatUsd } from '../domain/money.ts'
import type { StatementEntry } from '../projections/statements/queries.ts'

/** A movement in its public form: amounts are decimal USD. */
export const entryRecord = (entry: StatementEntry) => ({
  at: entry.time.toISOString(),
  sequence: entry.sequence,
  event_index: entry.eventIndex,
  line: entry.line,
  kind: entry.kind,
  reference: entry.reference,
  amount: formatUsd(entry.amountPicos),
  held: formatUsd(entry.heldPicos),
  balance_after: formatUsd(entry.balanceAfterPicos),
  held_after: formatUsd(entry.heldAfterPicos),
  corrects: entry.corrects,
  model: entry.model,
  key: entry.keyId,
  surface: entry.surface,
  tags: entry.tags,
  price_version: entry.priceVersion,
  upstream_request_id: entry.upstreamRequestId,
  note: entry.note,
  event_at: entry.eventTime.toISOString(),
})
