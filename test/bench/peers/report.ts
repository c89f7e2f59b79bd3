import { formatUsd } from '../../../src/domain/money.ts'
import { megabytes, table, whole } from '../table.ts'
import type { Bills } from './systems.ts'

/** The medians of all rounds of one load on one system. */
export interface Row {
  readonly stream: boolean
  readonly connections: number
  readonly name: string
  readonly perSecond: number
  /** Of an answer, all processes together. */
  readonly cpuMicros: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** The most in any round. */
  readonly bytes: number
  readonly failures: number
}

/** A message between processes makes NaN null: there was no answer. */
const tenths = (value: number | null): string => (value === null || Number.isNaN(value) ? 'none' : value.toFixed(1))

export const rowTable = (rows: readonly Row[]): string =>
  table(
    ['', '', 'connections', 'requests/s', 'CPU µs each', 'p50 ms', 'p99 ms', 'memory', 'failed'],
    rows.map(({ stream, name, connections, perSecond, cpuMicros, p50Ms, p99Ms, bytes, failures }) => [
      stream ? 'streams' : 'whole answers',
      name,
      String(connections),
      whole(perSecond),
      Number.isFinite(cpuMicros) ? whole(cpuMicros) : 'none',
      tenths(p50Ms),
      tenths(p99Ms),
      megabytes(bytes),
      whole(failures),
    ]),
  )

/** What one system billed of what its upstream counted. */
export interface Audited {
  readonly name: string
  readonly answered: number
  readonly expectedPicos: bigint
  /** Null where it keeps none. */
  readonly bills: Bills | null
}

const hundredth = 10_000n

/** A part of a whole in percent, with two digits. */
const percent = (part: bigint, of: bigint): string =>
  of === 0n ? '' : ` (${(Number((part * hundredth) / of) / 100).toFixed(2)} %)`

export const auditTable = (audited: readonly Audited[]): string =>
  table(
    ['', 'upstream counted', 'bills', 'lost', 'count × price', 'billed', 'off by', 'its limit counted'],
    audited.map(({ name, answered, expectedPicos, bills }) => {
      const counted = [name, whole(answered)]
      const expected = `$${formatUsd(expectedPicos)}`
      if (bills === null) return [...counted, 'none', '', expected, 'none', '', '']
      const lost = answered - bills.count
      const off = bills.picos - expectedPicos
      return [
        ...counted,
        whole(bills.count),
        `${whole(lost)}${percent(BigInt(lost), BigInt(answered))}`,
        expected,
        `$${formatUsd(bills.picos)}`,
        `$${formatUsd(off)}${percent(off, expectedPicos)}`,
        bills.admittedPicos === null ? '' : `$${formatUsd(bills.admittedPicos)}`,
      ]
    }),
    1,
  )
