import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import { balancePicos } from '../../../src/domain/wallet/wallet.ts'
import { checkCharges } from '../../support/bills.ts'
import { Clients, chat, chatBody, type Seen, until } from '../../support/clients.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { sheetOf } from '../../support/gateway.ts'
import { randomOf } from '../../support/random.ts'
import { checkRebuilt } from '../../support/rebuilt-tables.ts'
import { startRolesTogether } from '../../support/roles-together.ts'
import {
  type Answered,
  type AskedVideo,
  eventsOf,
  openKnownAccount,
  plainUsd,
  pollVideo,
  submitAgain,
  submitVideo,
  usdTimes,
  type VideoSurface,
  videoOptions,
  walletFigures,
  watchAvailable,
} from '../../support/video.ts'

const submits = 200
const covered = 100
const submitters = 24
const lossesMax = 4
const lossMsMax = 500
const seed = Number(process.env['CHAOS_SEED'] ?? Date.now() % 100_000)
const random = randomOf(seed)
const surfaces: readonly VideoSurface[] = ['generic', 'native', 'openai']

const { direct, throughWire, wire } = await startExternalServers(t)
const running = await startRolesTogether(t, {
  external: direct,
  externalOf: (role, index) => (role === 'edge' && index === 1 ? throughWire : direct),
  counts: { edge: 2 },
  models: { exact: 'exact;output_tokens=20;delay_ms=20' },
  ...videoOptions({ 'openai/exact': sheetOf({ per_million_tokens: { input: '0', output: '2000' } }) }),
})
const { operator, sandbox } = running
const [first = '', second = ''] = running.urls
const anyUrl = (index: number): string => (index % 2 === 0 ? first : second)

/** What is not known to be done is asked for again under its name, at the other edge. */
const ask = (secret: string, asked: AskedVideo, index: number): Promise<Answered> => {
  const named = { more: { external_task_id: `shot ${index}` }, ...asked }
  let edge = index
  return submitAgain(() => submitVideo(anyUrl(edge++), secret, named))
}

/** Asks for all, so many at a time; answers in the order of the questions. */
const askAll = async (secret: string, all: readonly AskedVideo[]): Promise<readonly Answered[]> => {
  const answers: Answered[] = []
  const waiting = [...all.entries()]
  const submitter = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, asked] = next
      answers[index] = await ask(secret, asked, index)
    }
  }
  await Promise.all(Array.from({ length: submitters }, submitter))
  return answers
}

const idsIn = (answers: readonly Answered[]): ReadonlySet<string> =>
  new Set(answers.filter(({ status }) => status === 200).map(({ body }) => body.task_id))

/** Ends every task at the vendor, and waits for the bills. */
const endAll = async (workspaceId: string): Promise<void> => {
  const wallet = operator.tail.ledger.wallets.get(workspaceId)!
  const open = [...wallet.holds.keys()]
  await until(() => open.every((taskId) => sandbox.videos.find(taskId)?.vendorTaskIds.length === 1))
  for (const taskId of open) sandbox.videos.end(taskId)
  await until(() => wallet.heldPicos === 0n)
}

const cats = (count: number): readonly AskedVideo[] =>
  Array.from({ length: count }, (_, index) => ({
    prompt: '[[never]] A cat.',
    surface: surfaces[index % surfaces.length]!,
  }))

/** What nearly all ask at once; a few were answered before. */
const race = async (t: Test, workspaceId: string, secret: string, before: readonly Answered[] = []): Promise<void> => {
  const least = watchAvailable(operator, workspaceId)
  const answers = [...before, ...(await askAll(secret, cats(submits - before.length)))]
  const count = (status: number): number => answers.filter((each) => each.status === status).length
  t.same({ 200: count(200), 402: count(402) }, { 200: covered, 402: submits - covered })
  const heldUsd = usdTimes(plainUsd, covered)
  t.same(await walletFigures(operator, workspaceId), { balance: heldUsd, held: heldUsd, available: '0' })
  const held = new Set(operator.tail.ledger.wallets.get(workspaceId)!.holds.keys())
  t.same(held, idsIn(answers), 'what is held is what was accepted')
  await endAll(workspaceId)
  t.same(await walletFigures(operator, workspaceId), { balance: '0', held: '0', available: '0' })
  t.equal(least(), '0', 'never less than nothing was available')
}

t.test('of 200 submits that race for the money of 100, exactly 100 are accepted', async (t) => {
  const secret = await openKnownAccount(operator, running.urls, 'acme', usdTimes(plainUsd, covered))
  await race(t, 'acme', secret)
})

const holdsOf = (workspaceId: string) => operator.tail.ledger.wallets.get(workspaceId)!.holds

const placedWithinMs = 5_000

/** What the second edge places is stored, and what the first edge places stands behind it, before the second hears of either. */
const loseFirstAck = async (workspaceId: string, secret: string): Promise<readonly Answered[]> => {
  const submit = (url: string, name: string): Promise<Answered> =>
    submitAgain(() => submitVideo(url, secret, { prompt: '[[never]]', more: { external_task_id: name } }))
  const isPlaced = (): boolean => holdsOf(workspaceId).size === 1
  wire.dropReplies('gateway-edge')
  const unheard = submit(second, 'lost')
  await until(isPlaced, placedWithinMs).catch(async () => {
    wire.cut() // On a machine so busy the edge saw its log stall before it had placed anything: it takes nothing until it is back.
    wire.passReplies()
    await until(isPlaced)
  })
  const behind = await submit(first, 'behind it')
  wire.cut()
  wire.passReplies()
  return [await unheard, behind]
}

/** Lets more be lost until the money is spent, a few times. */
const loseMoreAcks = async (workspaceId: string): Promise<void> => {
  const holds = holdsOf(workspaceId)
  for (let losses = 0; losses < lossesMax; losses += 1) {
    const standing = holds.size
    await until(() => holds.size > standing || holds.size === covered)
    if (holds.size === covered) return
    wire.dropReplies('gateway-edge')
    await pause(random() * lossMsMax)
    wire.cut()
    wire.passReplies()
  }
}

t.test(`the same while acknowledgements are lost, seed ${seed}`, async (t) => {
  const secret = await openKnownAccount(operator, running.urls, 'lossy', usdTimes(plainUsd, covered))
  const early = await loseFirstAck('lossy', secret)
  t.same(
    early.map(({ status }) => status),
    [200, 200],
  )
  const losses = loseMoreAcks('lossy')
  await race(t, 'lossy', secret, early)
  await losses
})

t.test('an id of the caller’s names one task, however many ask for it at once', async (t) => {
  const secret = await openKnownAccount(operator, running.urls, 'named', '10')
  const asks = (count: number, askedAt: (index: number) => { readonly prompt: string; readonly name: string }) =>
    Array.from({ length: count }, (_, index): AskedVideo => {
      const { prompt, name } = askedAt(index)
      return { prompt, surface: surfaces[index % surfaces.length]!, more: { external_task_id: name } }
    })
  const same = await askAll(
    secret,
    asks(24, () => ({ prompt: 'A cat.', name: 'shot' })),
  )
  t.same([...new Set(same.map(({ status }) => status))], [200])
  const [taskId, ...others] = idsIn(same)
  t.same(others, [])

  const raced = await askAll(
    secret,
    asks(24, (index) => ({ prompt: index % 2 === 0 ? 'A bird.' : 'A fish.', name: `shot ${index % 3}` })),
  )
  const refused = raced.filter(({ status }) => status !== 200)
  t.equal(idsIn(raced).size, 3, 'one body wins each id')
  t.equal(refused.length, 12)
  for (const { status, body } of refused) t.match([status, body.error.code], [409, 'external_task_id_conflict'])

  const placed = (await eventsOf(operator, 'HoldPlaced')).filter(({ workspaceId }) => workspaceId === 'named')
  t.equal(placed.length, 4)
  await until(async () => (await pollVideo(second, secret, taskId!)).body.data.status === 'SUCCESS')
  t.equal(sandbox.videos.find(taskId!)?.vendorTaskIds.length, 1)
})

/** What an answer of the model `exact` costs, and a video of the next test. */
const chatUsd = '0.04'
const filmUsd = '0.21'

t.test('chat and videos spend one wallet to its end, and never more', async (t) => {
  const secret = await openKnownAccount(operator, running.urls, 'both', '6')
  const wallet = operator.tail.ledger.wallets.get('both')!
  const least = watchAvailable(operator, 'both')
  const talk = async (url: string, stream: boolean): Promise<Seen> => {
    const seen = await chat(url, secret, chatBody('openai/exact', stream, 20))
    if (seen.status !== 200) await pause(100)
    return seen
  }
  const chatting = [new Clients(4, () => talk(first, true)), new Clients(4, () => talk(second, false))]
  const films = Array.from({ length: 60 }, (_, index) => ({
    prompt: `A cat. [[queue_ms=0;run_ms=${index * 10};deduction=1.5]]`,
    surface: surfaces[index % surfaces.length]!,
  }))
  const filmed = await askAll(secret, films)
  await until(() => balancePicos(wallet) < parseUsd(chatUsd))
  const journals = await Promise.all(chatting.map((clients) => clients.stop()))
  await until(() => wallet.heldPicos === 0n)

  t.same([...new Set(filmed.map(({ status }) => status))].toSorted(), [200, 402])
  const answers = journals.flat().filter(({ status, complete }) => status === 200 && complete)
  t.ok(answers.length > 0, `${answers.length} answers, ${idsIn(filmed).size} videos`)
  const spent = parseUsd(usdTimes(filmUsd, idsIn(filmed).size)) + parseUsd(usdTimes(chatUsd, answers.length))
  const spentPicos = (): bigint => wallet.creditsPicos - balancePicos(wallet)
  await until(() => spentPicos() <= spent) // What was charged for an undelivered answer is refunded later.
  t.equal(formatUsd(spentPicos()), formatUsd(spent))
  t.notMatch(least(), /-/, 'never less than nothing was available')
})

t.test('every charge is the sum of its lines, and a rebuild makes the same tables', async (t) => {
  await checkCharges(t, running)
  await checkRebuilt(t, operator)
  t.equal(sandbox.videos.totals().callbacksAsked, 0)
})
