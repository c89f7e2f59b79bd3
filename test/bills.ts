import type { Test } from 'tap'
import { formatUsd, parseUsd } from '../src/domain/money.ts'
import type { EventOf } from '../src/events/envelope.ts'
import { until } from './clients.ts'
import type { TestGateway } from './gateway.ts'

export type Bill = EventOf<'UsageRecorded'>['data']

const allBills = async ({ operator }: TestGateway): Promise<readonly Bill[]> =>
  (await operator.events()).flatMap((event) => (event.type === 'UsageRecorded' ? [event.data] : []))

/** The bill of one request, once the log has it. */
export const billOf = async (running: TestGateway, requestId: string | null | undefined): Promise<Bill> => {
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

const sumOf = (bills: readonly Bill[], figure: (usage: Bill['usage']) => number): number =>
  bills.reduce((sum, { usage }) => sum + figure(usage), 0)

/** What a model of 1 USD per million tokens in and 2 out costs, by hand. */
export const plainCost = (input: number, output: number): string =>
  formatUsd(BigInt(input) * 1_000_000n + BigInt(output) * 2_000_000n)

/** Forgets what the sandbox has counted; the result checks the bills since then against its own count, and returns them. */
export const startBilling = async (running: TestGateway): Promise<(t: Test) => Promise<readonly Bill[]>> => {
  const before = (await allBills(running)).length
  running.sandbox.reset()
  return async (t) => {
    const bills = (await allBills(running)).slice(before)
    const { prompt, output, reasoning } = running.sandbox.totals().tokens
    t.same(
      {
        prompt: sumOf(bills, (usage) => usage.promptTotal),
        output: sumOf(bills, (usage) => usage.outputTotal),
        reasoning: sumOf(bills, (usage) => usage.outputReasoning),
      },
      { prompt, output, reasoning },
      'what is billed is what the provider counted',
    )
    for (const { source, outcome } of bills) t.same({ source, outcome }, { source: 'reported', outcome: 'completed' })
    return bills
  }
}
