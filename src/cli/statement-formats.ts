import { entryRecord } from '../audit/entry-record.ts'
import { isoOrNull, type StatementFormat } from '../audit/statement-lines.ts'
import type { KindSums } from '../audit/statement-totals.ts'
import { formatUsd } from '../domain/money.ts'
import { formatCsvLine } from '../encoding/csv.ts'
import type { StatementRange, WalletBalance } from '../projections/statements/queries.ts'
import { escapeControls } from './explanation-text.ts'

const columns = [
  ...(['at', 'sequence', 'event_index', 'line', 'kind', 'reference'] as const),
  ...(['amount', 'held', 'balance_after', 'held_after', 'note', 'upstream_request_id'] as const),
  ...(['corrects', 'model', 'key', 'surface', 'tags', 'price_version', 'event_at'] as const),
] as const

type Cells = Partial<Readonly<Record<(typeof columns)[number], string | number>>>

const record = (cells: Cells): string => formatCsvLine(columns.map((column) => cells[column] ?? ''))

const balanceRecord = (kind: string, at: Date | null, { balancePicos, heldPicos }: WalletBalance): string =>
  record({
    at: isoOrNull(at) ?? '',
    kind,
    balance_after: formatUsd(balancePicos),
    held_after: formatUsd(heldPicos),
  })

/** RFC 4180 with a header: the opening balance, every movement, the closing balance. */
export const createCsvStatement = (): StatementFormat => {
  let to: Date | null = null
  return {
    head: (head) => {
      to = head.to
      return `${formatCsvLine(columns)}${balanceRecord('opening', head.from, head.opening)}`
    },
    entry: (entry) => {
      const { tags, ...cells } = entryRecord(entry)
      return record({ ...cells, tags: Object.keys(tags).length === 0 ? '' : JSON.stringify(tags) })
    },
    foot: ({ closing }) => balanceRecord('closing', to, closing),
  }
}

const widths = { at: 24, sequence: 10, kind: 10, amount: 18, held: 18, balance_after: 18, held_after: 18 } as const

const row = (cells: Readonly<Record<keyof typeof widths, string>>, ...texts: readonly string[]): string => {
  const { at, sequence, kind, ...amounts } = cells
  const words = [at.padEnd(widths.at), sequence.padStart(widths.sequence), kind.padEnd(widths.kind)]
  const figures = Object.entries(amounts).map(([name, text]) => text.padStart(widths[name as keyof typeof widths]))
  return `${[...words, ...figures, ...texts].join('  ').trimEnd()}\n`
}

const balanceRow = (kind: string, { balancePicos, heldPicos }: WalletBalance): string =>
  row({
    ...{ at: '', sequence: '', kind, amount: '', held: '' },
    balance_after: formatUsd(balancePicos),
    held_after: formatUsd(heldPicos),
  })

const titles = {
  ...{ at: 'time', sequence: 'frame', kind: 'kind', amount: 'amount', held: 'held' },
  ...{ balance_after: 'balance', held_after: 'held after' },
}

const rangeText = ({ from, to }: StatementRange): string =>
  `from ${from === null ? 'the beginning' : from.toISOString()} up to ${to === null ? 'the last frame' : `${to.toISOString()}, which is not in it`}`

const sumTitle = `${'kind'.padEnd(widths.kind)}  ${'movements'.padStart(widths.sequence)}  ${'amount'.padStart(widths.amount)}  ${'held'.padStart(widths.held)}\n`

const sumLine = ({ kind, count, amountPicos, heldPicos }: KindSums): string =>
  `${kind.padEnd(widths.kind)}  ${String(count).padStart(widths.sequence)}  ${formatUsd(amountPicos).padStart(widths.amount)}  ${formatUsd(heldPicos).padStart(widths.held)}\n`

const finality = (isFinal: boolean, sequence: number): string =>
  isFinal
    ? 'It is final: a movement behind its end is in the log.\n'
    : `It may grow: nothing behind its end is in the log yet, which was followed to frame ${sequence}.\n`

export const tableStatement: StatementFormat = {
  head: (head) =>
    `Statement of ${head.workspaceId} in USD, ${rangeText(head)}\n\n${row(titles, 'reference, upstream request id, model, what is corrected, note, when it occurred')}${balanceRow('opening', head.opening)}`,
  entry: (entry) => {
    const { at, sequence, kind, reference, amount, held, balance_after, held_after, ...details } = entryRecord(entry)
    const cells = { at, sequence: String(sequence), kind, amount, held, balance_after, held_after }
    const { upstream_request_id, model, corrects, note, event_at } = details
    const late = event_at === at ? '' : `of ${event_at}`
    const texts = [reference, upstream_request_id, model, corrects, note, late].filter((text) => text !== '')
    return row(cells, ...texts.map(escapeControls))
  },
  foot: ({ closing, sums, isFinal, sequence }) =>
    `${balanceRow('closing', closing)}\n${sumTitle}${sums.map(sumLine).join('')}\n${finality(isFinal, sequence)}`,
}
