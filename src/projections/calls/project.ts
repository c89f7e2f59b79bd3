import type { Attempt } from '../../events/types.ts'
import { countFirstToken, firstTokenColumns, firstTokenCounts, hourOf } from '../requests/table.ts'
import { decimal, freeText, instant, int4, nullable } from '../schema/columns.ts'
import { GroupedCounts } from '../schema/grouped-counts.ts'
import { defineReadModel } from '../schema/read-model.ts'
import { storedOrNull, storedText } from '../schema/stored-text.ts'
import { defineTables, type RowOf, type TablesOf } from '../schema/tables.ts'

const callTables = defineTables({
  /** In the hour in which their request ended. */
  calls_by_hour: {
    key: ['hour', 'provider', 'deployment'],
    write: 'add',
    columns: {
      hour: instant(),
      provider: freeText(),
      /** Empty, here and below, of a provider without several. */
      deployment: freeText(),
      calls: decimal(),
      failed: decimal(),
      /** Of requests with one call: the time is counted from the first. */
      ...firstTokenCounts,
    },
  },
  /** The last one of each. */
  failed_calls: {
    key: ['provider', 'deployment'],
    write: 'replace',
    columns: {
      provider: freeText(),
      deployment: freeText(),
      at: instant(),
      model: freeText(),
      status: nullable(int4()),
      reason: nullable(freeText()),
    },
  },
})

declare module '../schema/tables.ts' {
  interface Tables extends TablesOf<typeof callTables> {}
}

const countColumns = ['calls', 'failed', ...firstTokenColumns] as const

type CallGroup = Pick<RowOf<'calls_by_hour'>, 'hour' | 'provider' | 'deployment'>

const endedByUs: readonly (string | null)[] = [null, 'client_gone', 'deadline', 'shutdown']
/** Of attempts without a status: that the gateway ended, or whose call it did not make. */
const ownReasons: ReadonlySet<string | null> = new Set([...endedByUs, 'rate_limited', 'provider_not_configured'])

/** As the proxy judges deployments by their calls; a stream that the provider broke off has failed too. Null: no verdict. */
const verdictOf = ({ outcome, status, reason }: Attempt): 'answered' | 'failed' | null => {
  if (outcome === 'passed_over' || (outcome === 'failed' && status === null && ownReasons.has(reason))) return null
  if (outcome === 'served') return endedByUs.includes(reason) ? 'answered' : 'failed'
  // The request is at fault.
  return reason === 'refused' ? 'answered' : 'failed'
}

export const callsReadModel = defineReadModel({
  name: 'calls',
  version: 2,
  tables: callTables,
  startBatch: () => {
    const hours = new GroupedCounts<CallGroup, (typeof countColumns)[number]>(countColumns)
    const failures = new Map<string, RowOf<'failed_calls'>>()
    return {
      addEvent: ({ closed }) => {
        if (closed === null) return
        const { time: at, type, data } = closed.closing
        const firstTokenMs = type === 'UsageRecorded' ? data.firstTokenMs : undefined
        const calls = data.attempts
          .map((attempt) => ({ ...attempt, verdict: verdictOf(attempt) }))
          .filter(({ verdict }) => verdict !== null)
        for (const { provider, deployment = '', model, status, reason, verdict } of calls) {
          const called = { provider: storedText(provider), deployment: storedText(deployment) }
          const isFailed = verdict === 'failed'
          const counted = isFailed ? { failed: 1 } : countFirstToken(calls.length === 1 ? firstTokenMs : undefined)
          hours.add({ ...called, hour: hourOf(at) }, { ...counted, calls: 1 })
          if (!isFailed) continue
          const failure = { ...called, at, model: storedText(model), status, reason: storedOrNull(reason) }
          failures.set(`${provider}\n${deployment}`, failure)
        }
      },
      finish: () => ({ written: { calls_by_hour: hours.rows(), failed_calls: [...failures.values()] } }),
    }
  },
})
