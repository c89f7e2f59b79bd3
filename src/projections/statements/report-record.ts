import { formatUsd } from '../../domain/money.ts'
import { showGroup } from './other-debits.ts'
import { netPicos, type ReportGroup, type ReportRow } from './report.ts'

const figuresOf = (row: ReportRow) => ({
  requests: row.requests,
  charges: formatUsd(row.chargesPicos),
  corrections: formatUsd(row.correctionsPicos),
  fees: formatUsd(row.feesPicos),
  net: formatUsd(netPicos(row)),
})

/** A row in its public form: amounts are decimal USD. */
export const reportRecord = (groupBy: readonly ReportGroup[], row: ReportRow) => ({
  group: Object.fromEntries(groupBy.map((group, place) => [group, showGroup(row.group[place])])),
  ...figuresOf(row),
})
