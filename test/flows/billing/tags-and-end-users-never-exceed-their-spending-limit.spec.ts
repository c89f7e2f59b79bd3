import { hash } from 'node:crypto'
import t from 'tap'
import { issueKey } from '../../../src/administration/account-changes.ts'
import { formatUsd } from '../../../src/domain/money.ts'
import { endUserHolder, type Holder, tagHolder } from '../../../src/domain/wallet/holders.ts'
import { spendingOf } from '../../../src/domain/wallet/wallet.ts'
import { checkCharges } from '../../support/bills.ts'
import { chatBody, until } from '../../support/clients.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { runtime, sheetOf } from '../../support/gateway.ts'
import { checkRebuilt } from '../../support/rebuilt-tables.ts'
import { startRolesTogether } from '../../support/roles-together.ts'
import { usdTimes } from '../../support/video.ts'

const adminToken = 'a-token-of-ana-that-nobody-can-guess'
const clients = 10
const withinMs = 1_000
// The prompt is free, so that the worst case is the cost.
const answerTokens = 20
const answerUsd = '0.04'

const { direct } = await startExternalServers(t)
const running = await startRolesTogether(t, {
  external: direct,
  counts: { edge: 2 },
  models: { exact: `exact;output_tokens=${answerTokens};delay_ms=20` },
  config: { tagNames: ['team'], admins: [{ name: 'ana', sha256: hash('sha256', adminToken), role: 'owner' }] },
  sheets: { 'openai/exact': sheetOf({ per_million_tokens: { input: '0', output: '2000' } }) },
})
const { operator, urls } = running
await operator.openAccount('acme', '1000')
const wallet = operator.tail.ledger.wallets.get('acme')!
const keys = await Promise.all(['one', 'two'].map((name) => issueKey(operator, { workspaceId: 'acme', name }, runtime)))

interface Named {
  readonly user?: string
  readonly team?: string
}

const body = JSON.parse(chatBody('openai/exact', false, answerTokens)) as object
let asked = 0
/** In turn of each key and at each edge. */
const ask = async ({ user, team }: Named): Promise<{ readonly status: number; readonly message: string }> => {
  asked += 1
  const response = await fetch(`${urls[asked % urls.length]}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${keys[(asked >> 1) % keys.length]!.secret}`,
      'content-type': 'application/json',
      ...(team === undefined ? {} : { 'x-gateway-tags': `team=${team}` }),
    },
    body: JSON.stringify({ ...body, ...(user === undefined ? {} : { user }) }),
  })
  const { error } = (await response.json()) as { readonly error?: { readonly code: string; readonly message: string } }
  return { status: response.status, message: `${error?.code} ${error?.message}` }
}

interface LimitsBody {
  readonly end_user?: string
  readonly limits: { readonly spend?: object }
  readonly spent: { readonly total: string }
  readonly held: { readonly total: string }
}

const administer = async (url: string, method: string, path: string, sent?: object) => {
  const response = await fetch(`${url}/admin/v1/workspaces/acme/${path}`, {
    method,
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
  })
  return (await response.json()) as LimitsBody & { readonly data: readonly LimitsBody[] }
}

/** In force at every edge when it resolves; the id of the end user where one is named. */
const limit = async (query: string, spend: object): Promise<string> => {
  const { end_user } = await administer(urls[0]!, 'PUT', `limits?${query}`, { spend })
  const isKnownAt = async (url: string): Promise<boolean> => {
    const { data } = await administer(url, 'GET', `limits?${query}`)
    return JSON.stringify(data[0]?.limits.spend) === JSON.stringify(spend)
  }
  for (const url of urls) await until(() => isKnownAt(url), withinMs)
  return end_user ?? ''
}

/** The money is reserved by requests in flight, or the machine so busy that the log stalls. */
const isBusy = (status: number): boolean => status === 429 || status === 503

/** Asks with so many clients at once until each was refused three times; resolves with how many were answered. */
const askUntilRefused = async (next: () => Named): Promise<number> => {
  const refused = Array.from({ length: clients }, async () => {
    const statuses: number[] = []
    while (statuses.filter((status) => status === 402).length < 3) statuses.push((await ask(next())).status)
    return statuses
  })
  const statuses = (await Promise.all(refused)).flat()
  t.same(
    statuses.filter((status) => !(status === 200 || status === 402 || isBusy(status))),
    [],
  )
  return statuses.filter((status) => status === 200).length
}

const spentUsd = (holder: Holder): string => formatUsd(spendingOf(wallet, holder).spent.totalPicos)

t.test('a limit of an end user for exactly N requests lets N through over all edges and keys', async (t) => {
  const alice = endUserHolder(await limit('user=alice', { total: usdTimes(answerUsd, 13) }))
  t.equal(await askUntilRefused(() => ({ user: 'alice' })), 13)
  t.equal(spentUsd(alice), usdTimes(answerUsd, 13))
  const { status, message } = await ask({ user: 'alice', team: 'any' })
  t.equal(status, 402)
  t.match(message, /^key_spend_limit_reached This end user may spend 0\.52 USD in total, and too little of it is left/)
  t.notMatch(message, /alice|[0-9a-f]{64}/)
  for (const named of [{ user: 'bob' }, { team: 'any' }, {}]) t.equal((await ask(named)).status, 200)
  t.equal(wallet.spendings.has(tagHolder('team=any')), false, 'what has no limit is not counted')
})

t.test('a limit of a tag binds all its end users together, and those with limits by their own too', async (t) => {
  const team = tagHolder('team=search')
  const carol = endUserHolder(await limit('user=carol', { day: usdTimes(answerUsd, 5) }))
  await limit('tag=team%3Dsearch', { month: usdTimes(answerUsd, 17) })
  const users = ['carol', 'dan', undefined]
  let turn = 0
  const next = (): Named => {
    turn += 1
    const user = users[turn % users.length]
    return { team: 'search', ...(user === undefined ? {} : { user }) }
  }
  const both = await askUntilRefused(next)
  const others = await askUntilRefused(() => ({ team: 'search' }))
  t.equal(both + others, 17)
  t.equal(spentUsd(team), usdTimes(answerUsd, 17))
  const left = 5 - Math.round(Number(spentUsd(carol)) / Number(answerUsd))
  t.ok(left >= 0)
  t.equal(await askUntilRefused(() => ({ user: 'carol' })), left, 'what is left of her own')
  const { message } = await ask({ team: 'search' })
  t.match(message, /Requests with the tag `team=search` may spend 0\.68 USD a month.* It renews at/)
  await limit('tag=team%3Dsearch', { month: usdTimes(answerUsd, 19) })
  t.equal(await askUntilRefused(() => ({ team: 'search' })), 2, 'a limit that is raised')
})

t.test('forgetting the end users lifts their limits, and those of tags remain', async (t) => {
  await administer(urls[1]!, 'DELETE', 'end-users')
  await until(async () => {
    const { data } = await administer(urls[0]!, 'GET', 'limits')
    return data.every(({ end_user }) => end_user === undefined)
  }, withinMs)
  t.equal((await ask({ user: 'alice' })).status, 200)
  t.equal((await ask({ team: 'search' })).status, 402)
})

t.test('every charge is the sum of its lines, and a rebuild makes the same tables', async (t) => {
  await until(() => wallet.heldPicos === 0n)
  t.same(
    [...wallet.spendings.keys()].filter((holder) => holder.includes(' ')),
    ['tag team=search'],
  )
  const { data } = await administer(urls[0]!, 'GET', 'limits?tag=team%3Dsearch')
  t.match(data, [{ spent: { total: usdTimes(answerUsd, 19) }, held: { total: '0' } }])
  await checkCharges(t, running)
  const rowsOf = await checkRebuilt(t, operator)
  t.same([rowsOf('label_spending'), rowsOf('limits')], [1, 0])
})
