import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { workspaceRecord } from '../../../src/administration/operations/workspaces.ts'
import { cancelPlan, publishPlan, type SubscribeRequest, subscribe } from '../../../src/administration/plan-changes.ts'
import { readStatementFromLog, readStatementFromTables } from '../../../src/audit/statement.ts'
import { StatementComparison, StatementTotals } from '../../../src/audit/statement-totals.ts'
import { requireTables } from '../../../src/cli/platform.ts'
import { rebuildReadModels } from '../../../src/cli/replay.ts'
import { findPlanLimits } from '../../../src/domain/accounts/accounts.ts'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import type { EventType } from '../../../src/events/envelope.ts'
import type { PlanPublished } from '../../../src/events/types.ts'
import { checkCharges } from '../../support/bills.ts'
import { chat, chatBody, until } from '../../support/clients.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { runtime, sheetOf } from '../../support/gateway.ts'
import { startRolesTogether } from '../../support/roles-together.ts'
import { openKnownAccount, statementOf, usdTimes, walletFigures, watchAvailable } from '../../support/video.ts'

/** What an answer costs. */
const answerUsd = '0.04'
const dayMs = 86_400_000
/** Long enough for all that is looked at in a period. */
const periodMs = 15_000
const soonMs = 5_000
const daily: PlanPublished = {
  ...{ planId: 'daily', name: 'Daily', price: '2', period: 'day', includedCredit: '0.5' },
  limits: { requestsPerMinute: 60 },
}

const { direct } = await startExternalServers(t)
const running = await startRolesTogether(t, {
  external: direct,
  counts: { scheduler: 2 },
  models: { exact: 'exact;output_tokens=20' },
  sheets: { 'openai/exact': sheetOf({ per_million_tokens: { input: '0', output: '2000' } }) },
})
const { operator } = running
const [url = ''] = running.urls
await publishPlan(operator, daily)

const open = (workspaceId: string, creditUsd: string): Promise<string> =>
  openKnownAccount(operator, running.urls, workspaceId, creditUsd)

/** Subscribed to so long ago that the period ends at the instant. */
const subscribeUntil = (
  endsAtMs: number,
  workspaceId: string,
  changes: Partial<SubscribeRequest> = {},
): Promise<boolean> =>
  subscribe(operator, {
    ...{ workspaceId, planId: 'daily', subscriptionId: `sub_${workspaceId}`, startsAtMs: endsAtMs - dayMs },
    ...{ renews: true, again: true, ...changes },
  })

/** What the log says of a workspace, of some types. */
const said = async (workspaceId: string, ...types: readonly EventType[]) =>
  (await operator.events()).filter(({ type, subject }) => subject === workspaceId && types.includes(type))

const saidTimes = async (count: number, workspaceId: string, ...types: readonly EventType[]): Promise<void> =>
  until(async () => (await said(workspaceId, ...types)).length >= count)

const billing = async <T>(secret: string, what: 'subscription' | 'usage'): Promise<T> => {
  const { database } = requireTables(operator.platform)
  await until(async () => (await database.checkpoint()) === (await operator.log.lastSequence()))
  const response = await fetch(`${url}/v1/dashboard/billing/${what}`, {
    headers: { authorization: `Bearer ${secret}` },
  })
  return response.json() as Promise<T>
}

interface Told {
  readonly hard_limit_usd: number
  readonly access_until: number
  readonly plan?: { readonly id: string; readonly title: string }
}

const answer = async (secret: string): Promise<void> => {
  const { status } = await chat(url, secret, chatBody('openai/exact', false, 20))
  if (status !== 200) throw new Error(`it was answered with ${status}`)
}

const settled = (workspaceId: string): Promise<void> =>
  until(async () => (await walletFigures(operator, workspaceId)).held === '0')

const linesOf = async (workspaceId: string): Promise<readonly string[]> =>
  (await statementOf(operator, workspaceId))
    .filter(({ kind }) => kind !== 'hold' && kind !== 'release')
    .map(({ kind, amountPicos }) => `${kind} ${formatUsd(amountPicos)}`)

t.test('fee, credit, requests, lapse and renewal, with two schedulers', async (t) => {
  const secret = await open('acme', '10')
  const endsAtMs = runtime.clock() + periodMs
  t.equal(await subscribeUntil(endsAtMs, 'acme'), true)
  t.equal(await subscribeUntil(endsAtMs, 'acme'), false, 'the same subscription again')
  await answer(secret)
  await answer(secret)
  await settled('acme')

  const told = await billing<Told>(secret, 'subscription')
  t.match(told, { access_until: Math.floor(endsAtMs / 1_000), plan: { id: 'daily', title: 'Daily' } })
  const usage = await billing<{ total_usage: number }>(secret, 'usage')
  t.equal(usage.total_usage, 8, 'what plans cost is no usage')
  t.equal((told.hard_limit_usd - usage.total_usage / 100).toFixed(2), '8.42')
  t.same(findPlanLimits(operator.tail.ledger.accounts, 'acme'), daily.limits)

  await publishPlan(operator, { ...daily, name: 'Daily 2', price: '3' })
  await saidTimes(1, 'acme', 'PlanRenewed')
  t.ok(runtime.clock() >= endsAtMs)
  await saidTimes(1, 'acme', 'CreditExpired')
  t.same(await linesOf('acme'), [
    ...['credit 10', 'fee -2', 'credit 0.5', `charge -${answerUsd}`, `charge -${answerUsd}`],
    ...['lapse -0.42', 'fee -3', 'credit 0.5'],
  ])
  t.match(await billing<Told>(secret, 'subscription'), {
    access_until: Math.floor((endsAtMs + dayMs) / 1_000),
    plan: { title: 'Daily 2' },
  })
  await cancelPlan(operator, 'acme')
  await publishPlan(operator, daily)
})

t.test('every one of 20 periods that end at once is renewed once', async (t) => {
  const names = Array.from({ length: 20 }, (_, index) => `many-${index}`)
  for (const name of names) await operator.openAccount(name, '3')
  // The second fee is not covered: 3 - 2 + 0.5, of which 0.5 has lapsed.
  await operator.credit(names[0]!, '1', 'more')
  const endsAtMs = runtime.clock() + soonMs
  await Promise.all(names.map((name) => subscribeUntil(endsAtMs, name)))
  for (const name of names) await saidTimes(1, name, 'PlanRenewed', 'PlanEnded')
  for (const [index, name] of names.entries()) {
    const ends = (await said(name, 'PlanRenewed', 'PlanEnded', 'CreditExpired')).map(({ type }) => type)
    t.same(ends.toSorted(), ['CreditExpired', index === 0 ? 'PlanRenewed' : 'PlanEnded'], name)
  }
  t.match(workspaceRecord(operator, names[0]!), { fees: '4', lapsed: '0.5', lapsing: '0.5', balance: '0.5' })
  t.match(workspaceRecord(operator, names[1]!), { fees: '2', lapsed: '0.5', lapsing: '0', balance: '1' })
})

t.test('what cannot be paid for ends; periods that nobody looked after come one by one', async (t) => {
  const secret = await open('late', '7')
  await subscribeUntil(runtime.clock() - 5 * dayMs, 'late')
  await saidTimes(1, 'late', 'PlanEnded')
  t.match(
    (await said('late', 'PlanRenewed', 'PlanEnded')).map(({ data }) => data),
    [{ subscriptionId: 'sub_late', price: '2' }, { price: '2' }, { reason: 'unpaid' }],
  )
  t.match(workspaceRecord(operator, 'late'), { fees: '6', lapsed: '1.5', balance: '1', lapsing: '0' })
  const told = await billing<Told>(secret, 'subscription')
  t.match(told, { access_until: 0, hard_limit_usd: 1 })
  t.notOk('plan' in told)
  t.equal(findPlanLimits(operator.tail.ledger.accounts, 'late'), null)
  await t.rejects(
    subscribeUntil(runtime.clock() + dayMs, 'late', { subscriptionId: 'again' }),
    /2 USD is not covered: 1 USD/,
  )
})

t.test('a plan that is replaced, and one that is not to be renewed', async (t) => {
  await open('fickle', '20')
  await publishPlan(operator, { ...daily, planId: 'free', price: '0', includedCredit: '0', limits: {} })
  const endsAtMs = runtime.clock() + soonMs
  await subscribeUntil(endsAtMs, 'fickle')
  t.equal(await subscribeUntil(endsAtMs, 'fickle', { subscriptionId: 'other', again: false }), false)
  await subscribeUntil(endsAtMs, 'fickle', { subscriptionId: 'sub_free', planId: 'free', renews: false })
  await saidTimes(2, 'fickle', 'PlanEnded')
  t.match(
    (await said('fickle', 'PlanEnded')).map(({ data }) => data),
    [{ reason: 'replaced' }, { subscriptionId: 'sub_free', reason: 'expired' }],
  )
  await t.rejects(cancelPlan(operator, 'fickle'), /no plan/)
  await saidTimes(1, 'fickle', 'CreditExpired')
})

t.test('a credit lapses while requests go on, and no hold is uncovered', async (t) => {
  const secret = await open('busy', '0')
  // Of the promotion much is left when it lapses, and there is lasting money beside it.
  await operator.credit('busy', '40', 'promotion', '', new Date(runtime.clock() + soonMs).toISOString())
  await operator.credit('busy', '50', 'invoice-1')
  const least = watchAvailable(operator, 'busy')
  let answers = 0
  const hasLapsed = async (): Promise<boolean> => (await said('busy', 'CreditExpired')).length > 0
  do {
    await answer(secret)
    answers += 1
    await pause(20)
  } while (!(await hasLapsed()))
  await settled('busy')
  // What was held when it lapsed, and was not spent, has lapsed since.
  await until(() => workspaceRecord(operator, 'busy').lapsing === '0')
  await operator.caughtUp()
  const { charges, lapsed, balance } = workspaceRecord(operator, 'busy')
  t.equal(charges, usdTimes(answerUsd, answers))
  t.equal(formatUsd(parseUsd('90') - parseUsd(charges) - parseUsd(lapsed)), balance)
  t.ok(parseUsd(lapsed) > 0n && parseUsd(balance) <= parseUsd('50'), `${answers} answers, ${lapsed} lapsed`)
  t.notMatch(least(), /-/)
})

/** The statement of the tables is that of the log, and its sums are the wallet's. */
const checkStatement = async (t: Test, workspaceId: string): Promise<void> => {
  const { database } = requireTables(operator.platform)
  const everything = { from: null, to: null }
  const statement = await readStatementFromTables(database.db, workspaceId, everything)
  const log = { frames: operator.platform.log, to: statement.sequence }
  const comparison = new StatementComparison(
    statement.opening,
    await readStatementFromLog(log, workspaceId, everything),
  )
  const totals = new StatementTotals(statement.opening)
  for await (const entry of statement.entries) {
    totals.take(entry)
    await comparison.take(entry)
  }
  t.equal(await comparison.end(statement.isFinal()), null, workspaceId)
  const sumOf = (kind: string): string =>
    formatUsd(totals.sums.find((each) => each.kind === kind)?.amountPicos ?? 0n).replace('-', '')
  const { fees, lapsed, credits, charges, balance } = workspaceRecord(operator, workspaceId)
  t.same(
    { fees: sumOf('fee'), lapsed: sumOf('lapse'), credits: sumOf('credit'), charges: sumOf('charge') },
    { fees, lapsed, credits, charges },
  )
  t.equal(formatUsd(totals.closing.balancePicos), balance)
}

t.test('statements tie to the log, and a rebuild makes the same tables', async (t) => {
  for (const workspaceId of ['acme', 'late', 'fickle', 'busy']) await settled(workspaceId)
  await checkCharges(t, running)
  const { database, place } = requireTables(operator.platform)
  await until(async () => (await database.checkpoint()) === (await operator.log.lastSequence()))
  for (const workspaceId of ['acme', 'late', 'fickle', 'busy']) await checkStatement(t, workspaceId)
  const { equal, comparisons } = await rebuildReadModels({ log: operator.log, place, swap: false })
  t.ok(equal, comparisons.map(({ table, rows }) => `${rows} ${table}`).join(', '))
})
