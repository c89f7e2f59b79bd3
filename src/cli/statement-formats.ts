import { entryRecord } from '../audit/entry-record.ts'
import type { KindSums } from '../audit/statement-totals.ts'
import { formatUsd } from '../domain/money.ts'
import { formatCsvLine } from '../encoding/csv.ts'
import type { StatementEntry, StatementRange, WalletBalance } from '../projections/statements/queries.ts'
import { escapeControls } from './explanation-text.ts'

interface StatementHead extends StatementRange {
  readonly workspaceId: string
  readonly opening: WalletBalance
}

interface StatementFoot {
  readonly closing: WalletBalance
  readonly sums: readonly KindSums[]
  readonly isFinal: boolean
  /** The log was followed up to this frame. */
  readonly sequence: number
}

/** Each piece is a text with its line ends. */
export interface StatementFormat {
  head(head: StatementHead): string
  entry(entry: StatementEntry): string
  foot(foot: StatementFoot): string
}

const isoOrNull = (instant: Date | null): string | null => instant?.toISOString() ?? null

const balanceFields = ({ balancePicos, heldPicos }: WalletBalance) => ({
  balance: formatUsd(balancePicos),
  held: formatUsd(heldPicos),
})

const sumRecord = ({ kind, count, amountPicos, heldPicos }: KindSums) => ({
  kind,
  count,
  amount: formatUsd(amountPicos),
  held: formatUsd(heldPicos),
})

const line = (record: object): string => `${JSON.stringify(record)}\n`

/** One JSON object a line: `opening`, every `movement`, `closing`. */
export const jsonStatement: StatementFormat = {
  head: ({ workspaceId, from, to, opening }) =>
    line({
      type: 'opening',
      workspace: workspaceId,
      from: isoOrNull(from),
      to: isoOrNull(to),
      ...balanceFields(opening),
    }),
  entry: (entry) => line({ type: 'movement', ...entryRecord(entry) }),
  foot: ({ closing, sums, isFinal, sequence }) =>
    line({
      type: 'closing',
      ...balanceFields(closing),
      sums: sums.map(sumRecord),
      final: isFinal,
      log_sequence: sequence,
    }),
}

const columns = [
  ...(['at', 'sequence', 'event_index', 'line', 'kind', 'reference'] as const),
  ...(['amount', 'held', 'balance_after', 'held_after', 'note'] as const),
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
    entry: (entry) => record(entryRecord(entry)),
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
    `Statement of ${head.workspaceId} in USD, ${rangeText(head)}\n\n${row(titles, 'reference', 'note')}${balanceRow('opening', head.opening)}`,
  entry: (entry) => {
    const { at, sequence, kind, reference, amount, held, balance_after, held_after, note } = entryRecord(entry)
    const cells = { at, sequence: String(sequence), kind, amount, held, balance_after, held_after }
    return row(cells, escapeControls(reference), escapeControls(note))
  },
  foot: ({ closing, sums, isFinal, sequence }) =>
    `${balanceRow('closing', closing)}\n${sumTitle}${sums.map(sumLine).join('')}\n${finality(isFinal, sequence)}`,
}
