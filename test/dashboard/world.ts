import { hash } from 'node:crypto'
import type { Test } from 'tap'
import { issueKey, openWorkspace } from '../../src/administration/account-changes.ts'
import { requireTables } from '../../src/cli/platform.ts'
import { parseUsd } from '../../src/domain/money.ts'
import type { Fact } from '../../src/events/envelope.ts'
import { credited } from '../roles/projector/facts.ts'
import { until } from '../support/clients.ts'
import { runtime, startTestGateway, type TestGateway, type TestOptions } from '../support/gateway.ts'
import { videoOptions } from '../support/video.ts'
import { appendOverDays, failedFacts, refusedFacts, requestFacts, type SeededRequest, sayAgo } from './seed.ts'

export const adminToken = 'a-token-of-ana-that-nobody-can-guess'
export const spitefulName = '<script>document.title="taken"</script>'
export const spitefulModel = 'openai/<img/src=x/onerror=document.title="taken">'

export interface World extends TestGateway {
  readonly url: string
  readonly keyId: string
  /** Of a second key, whose name is markup. */
  readonly spitefulSecret: string
}

export const financeToken = 'the-token-of-the-finance-that-nobody-can-guess'
export const supportToken = 'the-token-of-the-support-that-nobody-can-guess'
export const operatorToken = 'the-token-of-the-operator-that-nobody-can-guess'
export const secondOwnerToken = 'a-token-of-eve-that-nobody-can-guess-either'
export const auditorToken = 'the-token-of-the-auditor-that-nobody-can-guess'

const models = ['openai/gpt-4o-mini', 'anthropic/claude-sonnet-5', 'openai/gpt-5-mini']
const surfaces = ['chat', 'messages', 'responses'] as const
const daysBack = [28, 24, 21, 17, 14, 12, 11, 9, 7, 6, 5, 4, 3, 2, 1]

const requestsOf = (daysAgo: number, keyId: string): readonly SeededRequest[] =>
  models.map((model, place) => ({
    id: `request-${daysAgo}-${place}`,
    keyId,
    model,
    tokens: 120_000 + ((daysAgo * 7_919 + place * 104_729) % 900_000),
    surface: surfaces[place]!,
    tags: daysAgo % 2 === 0 ? { team: 'search' } : {},
  }))

export const tablesCaughtUp = async ({ operator }: Pick<TestGateway, 'operator'>): Promise<void> => {
  const { database } = requireTables(operator.platform)
  await until(async () => (await database.checkpoint()) >= (await operator.log.lastSequence()))
}

/** A movement is never posted before an earlier one of its wallet: the credit must be older than what is seeded. */
const fundLongAgo: TestOptions['openAccount'] = async (operator, config) => {
  const account = await operator.openAccount('acme', '0')
  await sayAgo({ config }, daysBack[0]! + 1, [credited('test-credit', '100', account.workspaceId)], account.workspaceId)
  return account
}

/** A whole gateway that seals its log, with a workspace that has spent for a month, an empty one, and an administrator. */
export const openWorld = async (t: Test): Promise<World> => {
  const admins = [
    { name: 'ana', sha256: hash('sha256', adminToken), role: 'owner' as const },
    { name: 'eve', sha256: hash('sha256', secondOwnerToken), role: 'owner' as const },
    { name: 'bea', sha256: hash('sha256', financeToken), role: 'finance' as const },
    { name: 'sam', sha256: hash('sha256', supportToken), role: 'support' as const },
    { name: 'oli', sha256: hash('sha256', operatorToken), role: 'operator' as const },
    { name: 'aud', sha256: hash('sha256', auditorToken), role: 'auditor' as const },
  ]
  const audit = { sealing: true, origin: 'gateway.test/ledger', signer: null, verifier: null, previous: [] }
  const opened = await startTestGateway(t, {
    ...videoOptions({}, { admins, audit, approvalAbovePicos: parseUsd('1000') }),
    openAccount: fundLongAgo,
  })
  const { operator, account, gateway } = opened
  const keyId = operator.tail.ledger.accounts.keysBySha256.get(hash('sha256', account.secret))!.keyId
  const spiteful = await issueKey(operator, { ...account, name: spitefulName }, runtime)
  const today = [
    ...requestFacts(account, { id: 'request-spiteful', keyId: spiteful.keyId, model: spitefulModel, tokens: 4_321 }),
    ...failedFacts(account.workspaceId, keyId, 'request-failed'),
    ...refusedFacts(account.workspaceId, [keyId, spiteful.keyId]),
  ]
  await appendOverDays(opened, [
    ...daysBack.map(
      (daysAgo) => [daysAgo, requestsOf(daysAgo, keyId).flatMap((each) => requestFacts(account, each))] as const,
    ),
    [0, today],
  ])
  await openWorkspace(operator, { workspaceId: 'empty', name: 'Nothing yet', creditLimitPicos: 0n })
  await tablesCaughtUp(opened)
  return { ...opened, url: gateway.url, keyId, spitefulSecret: spiteful.secret }
}

/** A workspace with so many movements; its key. */
export const openCrowd = async (world: World, movements: number): Promise<string> => {
  const { secret } = await world.operator.openAccount('crowd', '1')
  const facts: Fact[] = Array.from({ length: movements }, (_, place) =>
    credited(`credit-${place}`, place % 3 === 0 ? '0.000001' : '0.5', 'crowd'),
  )
  await sayAgo(world, 0, facts, 'crowd')
  await tablesCaughtUp(world)
  return secret
}
