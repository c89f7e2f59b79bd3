import t from 'tap'
import { issueKey } from '../../../src/administration/account-changes.ts'
import { executeSetLimits } from '../../../src/administration/limits-changes.ts'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import { spendingOf } from '../../../src/domain/wallet/wallet.ts'
import type { Spend } from '../../../src/events/types.ts'
import { checkCharges } from '../../support/bills.ts'
import { Clients, chat, chatBody, type Seen, until } from '../../support/clients.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { runtime, sheetOf } from '../../support/gateway.ts'
import { checkRebuilt } from '../../support/rebuilt-tables.ts'
import { startRolesTogether } from '../../support/roles-together.ts'
import { plainUsd, submitVideo, usdTimes, type VideoSurface, videoOptions } from '../../support/video.ts'

const clients = 20
const withinMs = 1_000
// The prompt is free, so that the worst case is the cost.
const answerTokens = 20
const answerUsd = '0.04'
const surfaces: readonly VideoSurface[] = ['generic', 'native', 'openai']

const { direct } = await startExternalServers(t)
const running = await startRolesTogether(t, {
  external: direct,
  counts: { edge: 2 },
  models: { exact: `exact;output_tokens=${answerTokens};delay_ms=20` },
  ...videoOptions({ 'openai/exact': sheetOf({ per_million_tokens: { input: '0', output: '2000' } }) }),
})
const { operator, urls } = running
await operator.openAccount('acme', '1000')
const wallet = operator.tail.ledger.wallets.get('acme')!

interface TestKey {
  readonly keyId: string
  readonly secret: string
}

const openKey = (name: string): Promise<TestKey> => issueKey(operator, { workspaceId: 'acme', name }, runtime)

const modelsOf = async (url: string, { secret }: TestKey): Promise<readonly string[]> => {
  const response = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${secret}` } })
  const { data } = (await response.json()) as { readonly data: readonly { readonly id: string }[] }
  return data.map(({ id }) => id)
}

const setSpend = (key: TestKey, spend: Spend): Promise<boolean> =>
  executeSetLimits(operator, 'acme', key.keyId, { spend, allowedModels: ['openai/exact', 'vv/*'] })

/** Every edge knows them by then: it lists no other models to the key. */
const limit = async (key: TestKey, spend: Spend): Promise<void> => {
  await setSpend(key, spend)
  for (const url of urls) await until(async () => !(await modelsOf(url, key)).includes('openai/plain'))
}

const body = chatBody('openai/exact', false, answerTokens)
let asked = 0
const ask = ({ secret }: TestKey): Promise<Seen> => {
  asked += 1
  return chat(urls[asked % urls.length]!, secret, body)
}

/** The money is reserved by requests in flight, or the machine so busy that the log stalls. */
const isBusy = (status: number | null): boolean => status === 429 || status === 503

/** Asks with so many clients at both edges until every client was refused a few times; answers with how many were answered. */
const askUntilRefused = async (key: TestKey): Promise<number> => {
  const refused = Array.from({ length: clients }, async () => {
    const statuses: (number | null)[] = []
    while (statuses.filter((status) => status === 402).length < 3) statuses.push((await ask(key)).status)
    return statuses
  })
  const statuses = (await Promise.all(refused)).flat()
  t.same(
    [...new Set(statuses)].filter((status) => !(status === 200 || status === 402 || isBusy(status))),
    [],
  )
  return statuses.filter((status) => status === 200).length
}

const spentUsd = ({ keyId }: TestKey): string => formatUsd(spendingOf(wallet, keyId).spent.totalPicos)

const post = ({ secret }: TestKey, text: string, url = urls[0]): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: text,
  })

const errorOf = async (key: TestKey) => {
  const response = await post(key, body)
  const { error } = (await response.json()) as { readonly error: object }
  return { status: response.status, ...error }
}

t.test('a limit for exactly N requests lets exactly N through, and the other keys go on', async (t) => {
  const free = await openKey('free')
  const others = new Clients(4, () => ask(free))
  for (const [paidFor, spend] of [
    [37, { total: usdTimes(answerUsd, 37) }],
    [1, { month: answerUsd, total: '100' }],
    [20, { month: usdTimes(answerUsd, 20), total: usdTimes(answerUsd, 21) }],
  ] as const) {
    const key = await openKey(`limited-${paidFor}`)
    await limit(key, spend)
    t.equal(await askUntilRefused(key), paidFor)
    t.equal(spentUsd(key), usdTimes(answerUsd, paidFor))
  }
  const seen = await others.stop()
  t.ok(seen.some(({ status }) => status === 200))
  t.same(
    [...new Set(seen.map(({ status }) => status))].filter((status) => status !== 200 && status !== 503),
    [],
  )
})

t.test('a limit that is raised lets the key go on within a second, and tells what it is', async (t) => {
  const key = await openKey('raised')
  await limit(key, { total: usdTimes(answerUsd, 3) })
  t.equal(await askUntilRefused(key), 3)
  t.match(await errorOf(key), {
    status: 402,
    code: 'key_spend_limit_reached',
    type: 'insufficient_quota',
    message: /may spend 0\.12 USD in total/,
  })
  await setSpend(key, { total: usdTimes(answerUsd, 10) })
  await until(async () => (await ask(key)).status === 200, withinMs)
  t.equal(await askUntilRefused(key), 6)
  await setSpend(key, {})
  await until(async () => (await ask(key)).status === 200, withinMs)
})

t.test('what was spent before a limit was set counts', async (t) => {
  const key = await openKey('later')
  for (let each = 0; each < 5; each += 1) t.equal((await ask(key)).status, 200)
  await until(() => spentUsd(key) === usdTimes(answerUsd, 5))
  await limit(key, { month: usdTimes(answerUsd, 8) })
  t.equal(await askUntilRefused(key), 3)
})

t.test('a limit that covers a part of an answer caps it, and says so', async (t) => {
  const key = await openKey('capped')
  await limit(key, { total: '0.05' })
  t.equal((await ask(key)).status, 200)
  await until(() => spentUsd(key) === answerUsd && spendingOf(wallet, key.keyId).held.totalPicos === 0n)
  const askForMuch = (edge: number) => post(key, chatBody('openai/exact', false, 60), urls[edge])
  // 0.01 USD pays for five tokens, fewer than an answer needs.
  const refused = await askForMuch(0)
  t.equal(refused.status, 402)
  await refused.arrayBuffer()
  await setSpend(key, { total: '0.1' })
  let capped = await askForMuch(1)
  for (; capped.status === 402; capped = await askForMuch(1)) await capped.arrayBuffer()
  t.match([capped.status, capped.headers.get('x-gateway-output-cap')], [200, '30'])
  await capped.arrayBuffer()
})

t.test('videos count for the key too, whole or not at all', async (t) => {
  const key = await openKey('films')
  await limit(key, { total: usdTimes(plainUsd, 5) })
  const films = await Promise.all(
    Array.from({ length: 16 }, (_, index) =>
      submitVideo(urls[index % urls.length]!, key.secret, {
        prompt: 'A cat.',
        surface: surfaces[index % surfaces.length]!,
      }),
    ),
  )
  t.equal(films.filter(({ status }) => status === 200).length, 5)
  t.equal(films.filter(({ status }) => status === 402).length, 11)
  const { spent, held } = spendingOf(wallet, key.keyId)
  t.ok(spent.totalPicos + held.totalPicos <= parseUsd(usdTimes(plainUsd, 5)))
  await until(() => spendingOf(wallet, key.keyId).held.totalPicos === 0n)
})

t.test('every charge is the sum of its lines, and a rebuild makes the same tables', async (t) => {
  await until(() => wallet.heldPicos === 0n)
  await checkCharges(t, running)
  const rowsOf = await checkRebuilt(t, operator)
  t.equal(rowsOf('limits'), 7)
  t.ok((rowsOf('key_spending') ?? 0) >= 8)
})
