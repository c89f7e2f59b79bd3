import type { Test } from 'tap'
import { formatUsd, parseUsd } from '../../src/domain/money.ts'
import { unitsPicosRoundingHalfUp } from '../../src/domain/video/settle.ts'
import type { Event, EventOf } from '../../src/events/envelope.ts'
import { type Seen, until } from './clients.ts'
import type { Operator, TestGateway } from './gateway.ts'

export type Bill = EventOf<'UsageRecorded'>['data']

const allBills = async ({ operator }: Pick<TestGateway, 'operator'>): Promise<readonly Bill[]> =>
  (await operator.events()).flatMap((event) => (event.type === 'UsageRecorded' ? [event.data] : []))

/** How many events the log has, less the returns of allowances, which come when their time comes. */
export const countLasting = async (operator: Operator): Promise<number> =>
  (await operator.events()).filter(({ type }) => type !== 'HoldReleased').length

/** The bill of one request, once the log has it. */
export const billOf = async (
  running: Pick<TestGateway, 'operator'>,
  requestId: string | null | undefined,
): Promise<Bill> => {
  let found: Bill | undefined
  await until(async () => {
    found = (await allBills(running)).find((bill) => bill.requestId === requestId)
    return found !== undefined
  })
  if (found === undefined) throw new Error('it was found')
  return found
}

/** No answer so far has cost more than was set aside for it. */
export const checkReservations = async (t: Test, running: TestGateway): Promise<void> => {
  for (const { requestId, model, surface, total, reserved } of await allBills(running))
    if (parseUsd(total) > parseUsd(reserved))
      t.fail('a bill exceeds its reservation', { requestId, model, surface, total, reserved })
  t.pass('bills stay within their reservations')
}

interface Charge {
  readonly total: string
  readonly lines: readonly { readonly quantity: number | string; readonly unitPrice: string; readonly amount: string }[]
}

const hasSum = ({ total, lines }: Charge): boolean =>
  lines.reduce((sum, { amount }) => sum + parseUsd(amount), 0n) === parseUsd(total) &&
  lines.every(
    ({ quantity, unitPrice, amount }) => unitsPicosRoundingHalfUp(String(quantity), unitPrice) === parseUsd(amount),
  )

/** What a log charges, read without the fold: the first end of every request and of every task counts. */
class Charges {
  readonly #openTasks = new Set<string>()
  readonly #closedRequests = new Set<string>()

  /** The charge that the event makes; null where it makes none. */
  of({ type, data }: Event): (Charge & { readonly workspaceId: string }) | null {
    if (type === 'HoldPlaced' && data.task !== undefined) this.#openTasks.add(data.holdId)
    if (type === 'HoldReleased') this.#openTasks.delete(data.holdId)
    if (type === 'TaskSettled') return this.#openTasks.delete(data.taskId) ? data : null
    if (type !== 'UsageRecorded' && type !== 'RequestFailed') return null
    if (this.#closedRequests.has(data.requestId)) return null
    this.#closedRequests.add(data.requestId)
    return type === 'UsageRecorded' ? data : null
  }
}

/** Every charge is the sum of its lines, and what a wallet was charged is the sum of its bills and settled tasks; asked when nothing moves. */
export const checkCharges = async (t: Test, { operator }: Pick<TestGateway, 'operator'>): Promise<void> => {
  await operator.caughtUp()
  const charges = new Charges()
  const sums = new Map<string, bigint>()
  for (const event of await operator.events()) {
    const charge = charges.of(event)
    if (charge === null) continue
    if (!hasSum(charge)) t.fail('a charge is not the sum of its lines', charge)
    sums.set(charge.workspaceId, (sums.get(charge.workspaceId) ?? 0n) + parseUsd(charge.total))
  }
  for (const [workspaceId, { chargesPicos }] of operator.tail.ledger.wallets)
    t.equal(formatUsd(sums.get(workspaceId) ?? 0n), formatUsd(chargesPicos), `the charges of ${workspaceId}`)
}

/** Each request that was answered whole has one bill, and no other has two; answers with the number of bills. */
export const checkBilledOnce = async (t: Test, operator: Operator, journal: readonly Seen[]): Promise<number> => {
  const bills = new Map<string, number>()
  for (const { type, data } of await operator.events())
    if (type === 'UsageRecorded') bills.set(data.requestId, (bills.get(data.requestId) ?? 0) + 1)
  const answered = journal.filter(({ status, complete }) => status === 200 && complete)
  t.comment(`${answered.length} responses of ${journal.length} requests, ${bills.size} bills`)
  t.same(
    answered.filter(({ requestId }) => !bills.has(requestId ?? '')),
    [],
    'every acknowledged response has its bill',
  )
  t.same(
    [...bills].filter(([, count]) => count > 1),
    [],
    'no request has two',
  )
  return bills.size
}

const sumOf = (bills: readonly Bill[], figure: (usage: Bill['usage']) => number): number =>
  bills.reduce((sum, { usage }) => sum + figure(usage), 0)

/** What a model of 1 USD per million tokens in and 2 out costs, by hand. */
export const plainCost = (input: number, output: number): string =>
  formatUsd(BigInt(input) * 1_000_000n + BigInt(output) * 2_000_000n)

/** Forgets what the sandbox has counted; the result checks the bills since then against its own count, and returns them. */
export const startBilling = async (
  running: TestGateway,
  { reportsReasoning = true }: { readonly reportsReasoning?: boolean } = {},
): Promise<(t: Test) => Promise<readonly Bill[]>> => {
  const before = (await allBills(running)).length
  running.sandbox.reset()
  return async (t) => {
    const bills = (await allBills(running)).slice(before)
    const { prompt, output, reasoning } = running.sandbox.totals().tokens
    const billedReasoning = sumOf(bills, (usage) => usage.outputReasoning)
    t.same(
      {
        prompt: sumOf(bills, (usage) => usage.promptTotal),
        output: sumOf(bills, (usage) => usage.outputTotal),
        ...(reportsReasoning ? { reasoning: billedReasoning } : {}),
      },
      { prompt, output, ...(reportsReasoning ? { reasoning } : {}) },
      'what is billed is what the provider counted',
    )
    for (const { source, outcome } of bills) t.same({ source, outcome }, { source: 'reported', outcome: 'completed' })
    return bills
  }
}
