import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { formatUsd } from '../../../../src/domain/money.ts'
import { balancePicos } from '../../../../src/domain/wallet/wallet.ts'
import { Clients, chat, chatBody, until } from '../../../support/clients.ts'
import { Deployment } from '../../../support/deployment.ts'
import { startExternalServers } from '../../../support/external-servers.ts'
import { sheetOf } from '../../../support/gateway.ts'
import { randomOf } from '../../../support/random.ts'

const isLong = process.env['CHAOS_ROUNDS'] !== undefined
const clients = isLong ? 500 : 150
const paidFor = isLong ? 300 : 100
const seed = Number(process.env['CHAOS_SEED'] ?? Date.now() % 100_000)
const requestDeadlineMs = 2_000

// Each answer costs 20 words at 2 USD per million; the prompt is free, so that the worst case is the cost.
const answerTokens = 20
const costPicos = BigInt(answerTokens) * 2_000_000n

t.test(`${clients} clients of 3 edges on money for exactly N, an edge is killed, seed ${seed}`, async (t) => {
  const { direct } = await startExternalServers(t)
  const random = randomOf(seed)
  const victim = Math.floor(random() * 3)
  const deployment = await Deployment.start(t, {
    external: direct,
    counts: { edge: 3, proxy: 2 },
    apart: (role, index) => isLong || (role === 'edge' && index === victim),
    models: { exact: `exact;output_tokens=${answerTokens};delay_ms=20` },
    sheets: { 'openai/exact': sheetOf({ per_million_tokens: { input: '0', output: '2' } }) },
    config: { requestDeadlineMs },
  })
  const { operator } = deployment
  const { secret } = await operator.openAccount('acme', formatUsd(costPicos * BigInt(paidFor)))
  const wallet = operator.tail.ledger.wallets.get('acme')!
  const answeredInTheLog = (): number => Number(wallet.chargesPicos / costPicos)
  let lowest = balancePicos(wallet)
  operator.tail.onApplied(() => {
    const balance = balancePicos(wallet)
    if (balance < lowest) lowest = balance
  })

  const anyUrl = (): string => deployment.urls[Math.floor(random() * deployment.urls.length)]!
  const load = new Clients(clients, async () => {
    const seen = await chat(anyUrl(), secret, chatBody('openai/exact', false, answerTokens))
    if (seen.status !== 200) await pause(250 + random() * 500)
    return seen
  })
  await until(() => answeredInTheLog() >= paidFor / 3)
  await deployment.end('edge', victim, 'SIGKILL')

  await until(() => answeredInTheLog() >= paidFor, 150_000)
  const journal = await load.stop()
  await until(() => wallet.heldPicos === 0n)

  const answered = journal.filter(({ status, complete }) => status === 200 && complete)
  const bills = new Set(
    (await operator.events()).flatMap((event) => (event.type === 'UsageRecorded' ? [event.data.requestId] : [])),
  )
  t.equal(answeredInTheLog(), paidFor, 'all that the money is enough for')
  t.equal(lowest, 0n, 'the wallet was never below zero')
  const broken = journal.filter(({ status, complete }) => !complete && (status === null || status === 200))
  t.ok(answered.length <= paidFor, `${answered.length} answers reached a client`)
  t.ok(paidFor - answered.length <= broken.length, `${broken.length} broke off with the killed edge`)
  t.same(
    answered.filter(({ requestId }) => !bills.has(requestId!)),
    [],
    'each has its bill',
  )
  t.ok(deployment.sandbox.totals().calls >= bills.size, 'nothing is billed that the upstream did not serve')
})
