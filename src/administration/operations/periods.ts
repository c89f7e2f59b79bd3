import { parseMonth } from '../../domain/instant.ts'
import { isInvoiced } from '../../domain/ledger/invoices.ts'
import {
  type ClosedPeriod,
  findClosing,
  findLastPeriod,
  type PeriodFact,
  periodEnd,
} from '../../domain/ledger/periods.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import type { Unfinished } from '../../projections/unfinished.ts'
import { fromTables } from '../../read-api/read-tables.ts'
import { appendGlobalFacts } from '../admin-context.ts'
import { administrationLimits } from '../limits.ts'
import { type AdminOperation, defineOperation, type OperationContext, type OperationInput } from '../operation.ts'
import type { ClosePeriodRequest, ReopenPeriodRequest } from '../requests.types.ts'
import type { PeriodResponse } from '../responses.types.ts'

const conflict = (message: string): GatewayError => new GatewayError('conflict', message)

const closableMsOf = (month: string): number => Date.parse(periodEnd({ month })) + administrationLimits.closingDelayMs

const renderOpen = (month: string): PeriodResponse => ({
  object: 'period',
  month,
  state: 'open',
  closable_from: new Date(closableMsOf(month)).toISOString(),
  sequence: null,
  digest: null,
  totals: null,
  exceptions: null,
})

const renderPeriod = ({ month, sequence, closed }: ClosedPeriod): PeriodResponse => ({
  ...renderOpen(month),
  state: closed === null ? 'closing' : 'closed',
  sequence,
  digest: closed?.digest ?? null,
  totals: closed?.totals ?? null,
  exceptions: closed?.exceptions ?? null,
})

/** A month before the first that was closed is closed with it, and has no figures of its own. */
const showPeriod = ({ tail }: OperationContext, month: string): PeriodResponse => {
  const period = findClosing(tail.ledger.periods, new Date(periodEnd({ month })))
  if (period === null) return renderOpen(month)
  const rendered = renderPeriod(period)
  return period.month === month
    ? rendered
    : { ...renderOpen(month), state: rendered.state, sequence: rendered.sequence }
}

const recordOf = ({ object: _, closable_from, totals, digest, ...period }: PeriodResponse) => ({
  ...period,
  ...totals,
  digest: digest ?? '',
})

const findPeriod = ({ tail }: OperationContext, month: string): ClosedPeriod | undefined =>
  tail.ledger.periods.get(month)

/** Throws `not_found`. */
const requirePeriod = (context: OperationContext, month: string): ClosedPeriod => {
  const period = findPeriod(context, month)
  if (period === undefined) throw new GatewayError('not_found', `${month} is not closed.`)
  return period
}

const describeUnfinished = (month: string, unfinished: readonly Unfinished[]): string => {
  const shown = unfinished.slice(0, 10).map(({ kind, id, workspaceId }) => `${kind} ${id} of ${workspaceId}`)
  const others = unfinished.length > shown.length ? `; ${unfinished.length - shown.length} more` : ''
  return `${month} is not finished: ${shown.join('; ')}${others}. Settle them, or close it with them (\`with_exceptions\`).`
}

/** Throws `conflict` where the month cannot be closed. */
const checkClosable = async (context: OperationContext, month: string, withExceptions: boolean): Promise<void> => {
  const { readModels, clock, tail } = context
  const closableMs = closableMsOf(month)
  if (clock() < closableMs) throw conflict(`${month} can be closed from ${new Date(closableMs).toISOString()} on.`)
  const last = findLastPeriod(tail.ledger.periods)
  if (last !== null && month < last.month)
    throw conflict(`${last.month} is closed, and with it all months before it: reopen it first.`)
  if (last?.closed === null) throw conflict(`${last.month} is being closed: close it to its end first.`)
  if (last !== null && periodEnd(last).slice(0, month.length) !== month)
    throw conflict(`Close ${periodEnd(last).slice(0, month.length)} first: months are closed one after the other.`)
  const { value } = await fromTables(readModels.listUnfinished(month, tail.ledger.sequence))
  if (value.length > 0 && !withExceptions) throw conflict(describeUnfinished(month, value))
}

/** Nothing is posted in the month from its first event on; the second has what it comes to. Run again, it goes on. */
const closePeriod = async (context: OperationContext, month: string, withExceptions: boolean): Promise<boolean> => {
  const { readModels } = context
  const append = (fact: PeriodFact): Promise<void> => appendGlobalFacts(context, [fact])
  if (findPeriod(context, month)?.closed) return false
  if (findPeriod(context, month) === undefined) {
    await checkClosable(context, month, withExceptions)
    await append({ type: 'PeriodCutOff', data: { month } })
  }
  const { sequence } = requirePeriod(context, month)
  const journal = await fromTables(readModels.readPeriodJournal(month, sequence))
  const { value } = await fromTables(readModels.listUnfinished(month))
  await append({ type: 'PeriodClosed', data: { month, sequence, ...journal, exceptions: value.length } })
  return true
}

/** Throws `not_found`, or `conflict` where a later month is closed. */
const reopenPeriod = async (context: OperationContext, month: string, reason: string): Promise<void> => {
  requirePeriod(context, month)
  if (isInvoiced(context.tail.ledger.invoices, month))
    throw conflict(`${month} was invoiced: what is corrected now is posted later, and invoiced with that month.`)
  const last = findLastPeriod(context.tail.ledger.periods)
  if (last !== null && last.month !== month) throw conflict(`${last.month} is closed after it: reopen that first.`)
  await appendGlobalFacts(context, [{ type: 'PeriodReopened', data: { month, reason } }])
}

/** Throws `not_found`. */
const requireMonth = (text: string): string => {
  if (parseMonth(text) !== null) return text
  throw new GatewayError('not_found', `A month in UTC is such as 2026-11, got \`${text.slice(0, 20)}\`.`)
}

const listPeriods = ({ tail }: OperationContext): readonly PeriodResponse[] =>
  [...tail.ledger.periods.values()].map(renderPeriod).toSorted((one, other) => (one.month < other.month ? -1 : 1))

export const periodOperations: readonly AdminOperation[] = [
  defineOperation({
    name: 'period.close',
    permission: 'move_money',
    summary: 'Close a UTC month: its statements are final, and what comes later is posted in the next one',
    request: 'requests/admin/close-period.json',
    answer: 'period',
    http: { method: 'post', path: '/admin/v1/periods/:id/close' },
    cli: {
      words: 'close',
      arguments: { id: '<month>' },
      records: (context, { id }) =>
        listPeriods(context)
          .filter(({ month }) => month === id)
          .map(recordOf),
      reports: { unchanged: 'it was closed before' },
      notes: (body, { id }) =>
        (body as unknown as PeriodResponse).totals?.workspaces === 0
          ? [`nothing happened in ${id}: no wallet has a movement in it`]
          : [],
    },
    run: async (context, { id, body }: OperationInput<ClosePeriodRequest>) => {
      const month = requireMonth(id)
      const changed = await closePeriod(context, month, body.with_exceptions ?? false)
      return { changed, body: renderPeriod(requirePeriod(context, month)) }
    },
  }),
  defineOperation({
    name: 'period.reopen',
    permission: 'move_money',
    summary: 'Reopen the month that was closed last, for a reason that the log keeps',
    request: 'requests/admin/reopen-period.json',
    answer: 'period',
    http: { method: 'post', path: '/admin/v1/periods/:id/reopen' },
    cli: {
      words: 'reopen',
      arguments: { id: '<month>' },
      members: { reason: { required: true } },
      reports: { changed: 'reopened' },
    },
    run: async (context, { id, body }: OperationInput<ReopenPeriodRequest>) => {
      const month = requireMonth(id)
      const period = renderPeriod(requirePeriod(context, month))
      await reopenPeriod(context, month, body.reason)
      return { changed: true, body: { ...period, state: 'open' } satisfies PeriodResponse }
    },
  }),
  defineOperation({
    name: 'period.unfinished',
    permission: 'read_money',
    summary: 'What keeps a month from being closed, at most the first 1,000',
    answer: 'list of unfinished',
    http: { method: 'get', path: '/admin/v1/periods/:id/unfinished' },
    run: async ({ readModels }, { id }) => {
      const { sequence, value } = await fromTables(readModels.listUnfinished(requireMonth(id)))
      const data = value.slice(0, administrationLimits.unfinishedRowsMax).map(({ kind, workspaceId, id: of }) => ({
        ...{ object: 'unfinished', kind, workspace: workspaceId, id: of },
      }))
      return { sequence, body: { object: 'list', data, next_cursor: null } }
    },
  }),
  defineOperation({
    name: 'period.show',
    permission: 'read_money',
    summary: 'A month, closed or not, with when it can be closed',
    answer: 'period',
    http: { method: 'get', path: '/admin/v1/periods/:id' },
    run: (context, { id }) => ({ body: showPeriod(context, requireMonth(id)) }),
  }),
  defineOperation({
    name: 'period.list',
    permission: 'read_money',
    summary: 'The months that are closed, with what they came to',
    answer: 'list of period',
    http: { method: 'get', path: '/admin/v1/periods' },
    cli: {
      words: 'periods',
      arguments: {},
      reports: { absent: 'there are none' },
      records: (context) => listPeriods(context).map(recordOf),
    },
    run: (context) => ({ body: { object: 'list', data: listPeriods(context), next_cursor: null } }),
  }),
]
