import type { ClosingEvent, RoutedEvent } from '../../domain/ledger/requests.ts'
import type { Attempt } from '../../events/types.ts'
import { boolean, decimal, freeText, instant, int4, int8, json, nullable, text, textOf } from '../schema/columns.ts'
import { defineTables, type TablesOf } from '../schema/tables.ts'

/** By the ms within which the first token came; each counts in the first column that holds it. */
export const firstTokenColumns = [
  ...(['first_token_125', 'first_token_250', 'first_token_500', 'first_token_1000', 'first_token_2000'] as const),
  ...(['first_token_4000', 'first_token_8000', 'first_token_16000', 'first_token_32000'] as const),
  ...(['first_token_64000', 'first_token_above'] as const),
] as const
type FirstTokenColumn = (typeof firstTokenColumns)[number]

/** Of each of `firstTokenColumns`, the ms that it holds at most. */
const firstTokenBoundsMs: readonly number[] = firstTokenColumns.map((column) =>
  column === 'first_token_above' ? Number.POSITIVE_INFINITY : Number(column.slice('first_token_'.length)),
)

export const firstTokenCounts = Object.fromEntries(firstTokenColumns.map((name) => [name, decimal()])) as {
  readonly [C in FirstTokenColumn]: ReturnType<typeof decimal>
}

export const countFirstToken = (firstTokenMs: number | undefined): { readonly [C in FirstTokenColumn]?: number } =>
  firstTokenMs === undefined
    ? {}
    : { [firstTokenColumns[firstTokenBoundsMs.findIndex((most) => firstTokenMs <= most)]!]: 1 }

/** The ms within which this share of the first tokens came, interpolated between the bounds of two columns; null without any. */
const firstTokenQuantile = (counts: readonly number[], share: number): number | null => {
  const total = counts.reduce((sum, count) => sum + count, 0)
  let before = 0
  for (const [place, count] of counts.entries()) {
    if (count > 0 && before + count >= total * share) {
      const low = firstTokenBoundsMs[place - 1] ?? 0
      const high = firstTokenBoundsMs[place]!
      return Number.isFinite(high) ? Math.round(low + ((high - low) * (total * share - before)) / count) : low
    }
    before += count
  }
  return null
}

/** Of counts by the columns of `firstTokenColumns`. */
export const firstTokenFigures = (counts: readonly number[]) => ({
  counted: counts.reduce((sum, count) => sum + count, 0),
  median_ms: firstTokenQuantile(counts, 0.5),
  p95_ms: firstTokenQuantile(counts, 0.95),
})

const lengthOfHour = 'YYYY-MM-DDTHH'.length

/** Its beginning. */
export const hourOf = (time: string): string => `${time.slice(0, lengthOfHour)}:00:00Z`

export const requestTables = defineTables({
  requests: {
    key: ['request_id'],
    write: 'insert',
    isBulk: true,
    columns: {
      request_id: text(),
      sequence: int8(),
      event_index: int4(),
      /** Of the side that came first; null in rows that an earlier release wrote. */
      first_sequence: nullable(int8()),
      workspace_id: text(),
      key_id: text(),
      surface: text(),
      model: freeText(),
      router: nullable(freeText()),
      stream: boolean(),
      status: textOf<'ok' | 'interrupted' | 'failed'>(),
      error_status: nullable(int4()),
      error_reason: nullable(freeText()),
      served_model: nullable(freeText()),
      level: nullable(int8()),
      attempts: json<readonly Attempt[]>(),
      reserved: decimal(),
      total: decimal(),
      routed_at: instant(),
      closed_at: instant(),
      /** Null for whole answers, failed requests, and rows that an earlier release wrote. */
      first_token_ms: nullable(int4()),
    },
  },
  outcomes_by_hour: {
    key: ['workspace_id', 'hour', 'model', 'key_id'],
    write: 'add',
    columns: {
      hour: instant(),
      workspace_id: text(),
      model: freeText(),
      key_id: text(),
      requests: decimal(),
      failed: decimal(),
      interrupted: decimal(),
      ...firstTokenCounts,
    },
  },
  /** A request of which one side has come; that side is stored whole. */
  open_requests: {
    key: ['request_id'],
    write: 'insert',
    columns: {
      request_id: text(),
      sequence: int8(),
      routed: nullable(json<RoutedEvent>()),
      closing: nullable(json<ClosingEvent>()),
    },
  },
})

declare module '../schema/tables.ts' {
  interface Tables extends TablesOf<typeof requestTables> {}
}
