import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import type { SandboxCall } from '../../../sandbox/http/calls.ts'
import { publishPlan, subscribe } from '../../../src/administration/plan-changes.ts'
import { findOrCreateWallet } from '../../../src/domain/ledger/ledger.ts'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import { balancePicos } from '../../../src/domain/wallet/wallet.ts'
import type { EventOf } from '../../../src/events/envelope.ts'
import { chat, until } from '../../support/clients.ts'
import { type Account, runtime, startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { type Ended, mainFile, programEnvironment, runProgram } from '../../support/program.ts'

const credit = '100'
const requestsOfEach = 6

interface Asked {
  readonly requestId: string
  readonly prompt: string
}

/** A request with a prompt of its own, by which the sandbox's call is known again. */
const ask = async ({ gateway }: TestGateway, { workspaceId, secret }: Account, number: number): Promise<Asked> => {
  const prompt = `question ${number} of ${workspaceId}`
  const body = { model: 'openai/plain', max_tokens: 20 + number, messages: [{ role: 'user', content: prompt }] }
  const { requestId, complete } = await chat(gateway.url, secret, JSON.stringify(body))
  if (requestId === null || !complete) throw new Error(`${prompt} was not answered`)
  return { requestId, prompt }
}

/** What the provider counted of one request. */
interface Line {
  readonly requestId: string
  readonly workspaceId: string
  readonly time: string
  readonly input: number
  readonly output: number
  readonly amountPicos: bigint
}

/** 1 USD per million tokens in, 2 out. */
const costOf = (input: number, output: number): bigint => BigInt(input) * 1_000_000n + BigInt(output) * 2_000_000n

const promptOf = ({ body }: SandboxCall): string => (body as { messages: [{ content: string }] }).messages[0].content

const linesOf = (calls: readonly SandboxCall[], asked: readonly Asked[]): readonly Line[] =>
  calls.map((call) => {
    const prompt = promptOf(call)
    const { requestId } = asked.find((each) => each.prompt === prompt)!
    const { prompt: input, output } = call.tokens!
    const workspaceId = prompt.split(' ').at(-1)!
    return {
      requestId,
      workspaceId,
      time: new Date(call.at).toISOString(),
      input,
      output,
      amountPicos: costOf(input, output),
    }
  })

const csvOf = (lines: readonly Line[]): string =>
  [
    'provider,model,time,request_id,input,output,amount',
    ...lines.map(
      ({ requestId, time, input, output, amountPicos }) =>
        `openai,plain,${time},${requestId},${input},${output},${formatUsd(amountPicos).padEnd(14, '0')}`,
    ),
  ].join('\n')

const usageReportOf = (lines: readonly Line[]): string => {
  const [day] = lines.map(({ time }) => Date.parse(`${time.slice(0, 10)}T00:00:00Z`) / 1_000)
  const sum = (figure: (line: Line) => number): number => lines.reduce((total, line) => total + figure(line), 0)
  const result = {
    object: 'organization.usage.completions.result',
    input_tokens: sum(({ input }) => input),
    output_tokens: sum(({ output }) => output),
    num_model_requests: lines.length,
    model: 'plain',
  }
  return JSON.stringify({
    object: 'page',
    data: [{ object: 'bucket', start_time: day, end_time: day! + 86_400, results: [result] }],
    has_more: false,
  })
}

interface Scene {
  readonly running: TestGateway
  readonly accounts: readonly Account[]
  readonly lines: readonly Line[]
  reconcile(name: string, text: string, ...words: readonly string[]): Promise<Ended>
}

const setScene = async (t: Parameters<typeof startTestGateway>[0], workspaces: number): Promise<Scene> => {
  const running = await startTestGateway(t)
  const { operator, sandbox, account, config } = running
  const accounts = [account]
  for (let each = 1; each < workspaces; each += 1)
    accounts.push(await operator.openAccount(`workspace-${each}`, credit))
  // Its fee and its credit are between us and the workspace: no provider invoices them.
  const terms = { planId: 'pro', name: 'Pro', price: '3', period: 'month', includedCredit: '3', limits: {} } as const
  await publishPlan(operator, terms)
  const subscribing = { subscriptionId: 'sub_1', startsAtMs: runtime.clock(), renews: true, again: true }
  await subscribe(operator, { workspaceId: account.workspaceId, planId: 'pro', ...subscribing })
  const asked: Asked[] = []
  for (const each of accounts)
    for (let number = 0; number < requestsOfEach; number += 1) asked.push(await ask(running, each, number))
  await operator.caughtUp()
  const lines = linesOf(sandbox.calls(), asked)
  return {
    running,
    accounts,
    lines,
    reconcile: async (name, text, ...words) => {
      const file = join(config.dataFolder, name)
      await writeFile(file, text)
      return runProgram(
        config.dataFolder,
        config.dataFolder,
        'reconcile',
        '--provider',
        'openai',
        '--file',
        file,
        '--json',
        ...words,
      )
    },
  }
}

interface Said {
  readonly type: string
  readonly [name: string]: unknown
}

const saidIn = ({ out }: Ended): readonly Said[] =>
  out
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Said)

const ofType = (ended: Ended, type: string): readonly Said[] => saidIn(ended).filter((said) => said.type === type)

/** On a terminal, which `script` makes; both outputs are one. */
const answerOnTerminal = async (dataFolder: string, answer: string, ...words: readonly string[]): Promise<Ended> => {
  const command = [process.execPath, mainFile, ...words, '--data', dataFolder].map((word) => `'${word}'`).join(' ')
  const child = spawn('script', ['-qec', command, '/dev/null'], { cwd: dataFolder, env: programEnvironment() })
  child.stdin.end(`${answer}\n`)
  const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return { code: Number(code), out, err: '' }
}

const balancesOf = async ({ running, accounts }: Scene): Promise<readonly string[]> => {
  await running.operator.caughtUp()
  return accounts.map(({ workspaceId }) =>
    formatUsd(balancePicos(findOrCreateWallet(running.operator.tail.ledger, workspaceId))),
  )
}

/** Every wallet, had each request cost what the invoice says. */
const balancesAfter = ({ accounts }: Scene, lines: readonly Line[]): readonly string[] =>
  accounts.map(({ workspaceId }) =>
    formatUsd(
      lines
        .filter((line) => line.workspaceId === workspaceId)
        .reduce((left, { amountPicos }) => left - amountPicos, parseUsd(credit)),
    ),
  )

const adjustmentsIn = async ({ running }: Scene) =>
  (await running.operator.events()).flatMap((event) => (event.type === 'AdjustmentPosted' ? [event.data] : []))

type Recorded = EventOf<'InvoiceReconciled'>

const recordedIn = async ({ running }: Scene): Promise<readonly Recorded[]> =>
  (await running.operator.events()).filter((event) => event.type === 'InvoiceReconciled')

/** More tokens, another price, a call that we know nothing of, and one that is not invoiced. */
const tamper = (lines: readonly Line[]): readonly Line[] =>
  lines.slice(0, -1).map((line, place) => {
    if (place === 0) return { ...line, output: line.output + 5, amountPicos: costOf(line.input, line.output + 5) }
    if (place === 1) return { ...line, amountPicos: line.amountPicos + 12_345n }
    return place === 2 ? { ...line, amountPicos: line.amountPicos - 1_000_000n } : line
  })

t.test("the provider's own count is compared, corrected once, and then equals the wallet", async (t) => {
  const scene = await setScene(t, 2)
  const { lines } = scene

  const clean = await scene.reconcile('clean.csv', csvOf(lines), '--format', 'csv')
  t.equal(clean.code, 0, clean.err)
  t.match(ofType(clean, 'summary'), [{ rows: lines.length, difference: '0', differences: 0 }])
  t.same(ofType(clean, 'difference'), [])
  t.equal((await scene.reconcile('usage.json', usageReportOf(lines), '--format', 'openai-usage')).code, 0)

  const unknown = { ...lines[0]!, requestId: 'nobody-asked', amountPicos: 77n }
  const tampered = [...tamper(lines), unknown]
  const before = await balancesOf(scene)
  const shown = await scene.reconcile('march.csv', csvOf(tampered), '--format', 'csv')
  t.equal(shown.code, 1)
  t.same(
    ofType(shown, 'class').map(({ class: name, count, amount }) => `${name} ${count} ${amount}`),
    [
      'missing_here 1 0.000000000077',
      `missing_there 1 ${formatUsd(-lines.at(-1)!.amountPicos)}`,
      'token_drift 1 0.00001',
      'price_drift 2 -0.000000987655',
    ],
  )
  t.same(
    ofType(shown, 'correction').map(({ outcome }) => outcome),
    ['not_posted', 'not_posted', 'not_posted'],
  )
  t.same(await balancesOf(scene), before, 'a dry run moves nothing')
  t.same(await recordedIn(scene), [], 'and records nothing')

  const { workspaceId } = scene.running.account
  const rule = { workspaceId, rule: 'books', threshold: '0.00001', destinations: ['ops'] }
  await scene.running.operator.log.postToWallet(workspaceId, [
    { type: 'AlertRuleSet', data: { ...rule, measure: 'unreconciled' } },
  ])
  const recorded = await scene.reconcile('march.csv', csvOf(tampered), '--format', 'csv', '--record')
  t.equal(recorded.code, 1)
  const missingPicos = 77n + lines.at(-1)!.amountPicos
  const unreconciled = formatUsd(missingPicos + 10_000_000n + 12_345n + 1_000_000n)
  const [{ actor, data }] = (await recordedIn(scene)) as [Recorded]
  t.match(data, { provider: 'openai', timezone: 'UTC', explained: '0', differences: 5, unreconciled })
  t.equal(data.digest, createHash('sha256').update(csvOf(tampered)).digest('hex'))
  t.equal(
    parseUsd(data.invoiced) - parseUsd(data.charged),
    77n - lines.at(-1)!.amountPicos + 10_000_000n + 12_345n - 1_000_000n,
  )
  t.match(actor, /^operator:/)
  t.same(await balancesOf(scene), before, 'what is recorded moves nothing')
  await until(async () => (await scene.running.operator.events()).some(({ type }) => type === 'AlertRaised'))
  const raised = (await scene.running.operator.events()).find(({ type }) => type === 'AlertRaised')
  t.match(raised?.data, { rule: 'books', figure: unreconciled })

  const unasked = await scene.reconcile('march.csv', csvOf(tampered), '--format', 'csv', '--post')
  t.match(unasked, { code: 2, out: '', err: /no terminal to answer on.*add --yes/ })
  const { dataFolder } = scene.running.config
  const words = ['reconcile', '--provider', 'openai', '--format', 'csv', '--file', 'march.csv', '--json', '--post']
  for (const answer of ['', 'no']) {
    const refused = await answerOnTerminal(dataFolder, answer, ...words)
    t.match(refused, { code: 1, out: /nothing is posted/ })
    t.same(await balancesOf(scene), before, `answered with '${answer}', it moves nothing`)
  }

  const posted = await answerOnTerminal(dataFolder, 'y', ...words)
  t.match(posted.out, /Post 3 corrections of 1 workspaces: take 0.000010012345 USD, give back 0.000001 USD\?/)
  t.equal(posted.code, 1, 'what is missing is left')
  t.same(
    [...posted.out.matchAll(/"outcome":"(\w+)"/g)].map(([, outcome]) => outcome),
    [...Array(3).fill('not_posted'), ...Array(3).fill('posted')],
  )
  t.match(posted.out, new RegExp(`"remainder","explained":"[^"]+","unreconciled":"${formatUsd(missingPicos)}"`))
  const adjustments = await adjustmentsIn(scene)
  t.match(
    adjustments,
    Array(3).fill({ by: actor, reference: `sha256:${data.digest}` }),
    'with who posted it, and of what',
  )
  t.same(
    adjustments.map(({ corrects, reason, amount }) => `${corrects} ${reason} ${amount}`).sort(),
    [
      `${lines[0]!.requestId} reconciliation -0.00001`,
      `${lines[1]!.requestId} reconciliation -0.000000012345`,
      `${lines[2]!.requestId} reconciliation 0.000001`,
    ].sort(),
  )
  const charged = [...tampered.slice(0, -1), lines.at(-1)!]
  t.same(await balancesOf(scene), balancesAfter(scene, charged), 'each charge is what is invoiced')

  const again = await scene.reconcile('march.csv', csvOf(tampered), '--format', 'csv', '--post', '--yes', '--record')
  t.match((await recordedIn(scene))[1]?.data, { differences: 2, unreconciled: formatUsd(missingPicos) })
  t.same(ofType(again, 'correction'), [])
  t.same((await adjustmentsIn(scene)).length, 3, 'posting again posts nothing')
  t.same(
    ofType(again, 'class').map(({ class: name }) => name),
    ['missing_here', 'missing_there'],
  )

  const second = charged.map((line, place) => (place === 0 ? { ...line, amountPicos: line.amountPicos + 500n } : line))
  const later = await scene.reconcile('april.csv', csvOf(second), '--format', 'csv', '--post', '--yes', '--record')
  t.match(ofType(later, 'summary'), [{ difference: '0.0000000005', explained: '0.0000000005', unreconciled: '0' }])
  t.match((await recordedIn(scene))[2]?.data, { explained: '0.0000000005', differences: 0, unreconciled: '0' })
  t.equal(later.code, 0, 'all that differed was corrected')
  t.same(
    ofType(later, 'correction').map(({ amount }) => amount),
    ['-0.0000000005'],
    'another invoice corrects what is left',
  )
  t.same(await balancesOf(scene), balancesAfter(scene, second))

  const bad = await scene.reconcile(
    'bad.csv',
    `${csvOf(tampered)}\nopenai,plain,yesterday,x,1,1,1`,
    '--format',
    'csv',
    '--post',
    '--yes',
  )
  t.equal(bad.code, 1)
  t.match(ofType(bad, 'bad_row'), [{ row: tampered.length + 2, problem: /time is no instant/ }])
  t.equal((await adjustmentsIn(scene)).length, 4)
  t.equal((await scene.reconcile('x.csv', 'x', '--format', 'guess')).code, 2)
  const offset = await scene.reconcile('x.csv', csvOf(lines), '--format', 'csv', '--timezone', '+08:00')
  t.match(offset, { code: 2, err: /a name such as Asia\/Shanghai/ })
})

t.test('a posting that is killed is finished by the next', async (t) => {
  const scene = await setScene(t, 6)
  const dearer = scene.lines.map((line) => ({ ...line, amountPicos: line.amountPicos + 3_000_000n }))
  const { dataFolder } = scene.running.config
  const file = join(dataFolder, 'dearer.csv')
  await writeFile(file, csvOf(dearer))
  const words = [
    'reconcile',
    '--provider',
    'openai',
    '--format',
    'csv',
    '--file',
    file,
    '--post',
    '--yes',
    '--data',
    dataFolder,
  ]
  const child = spawn(process.execPath, [mainFile, ...words], {
    cwd: dataFolder,
    env: programEnvironment(),
    stdio: 'ignore',
  })
  const { ledger } = scene.running.operator.tail
  const ended = once(child, 'exit')
  await Promise.race([
    until(() => [...ledger.wallets.values()].some((wallet) => wallet.adjustmentsPicos !== 0n)),
    ended,
  ])
  child.kill('SIGKILL')
  await ended
  t.comment(`${(await adjustmentsIn(scene)).length} of ${dearer.length} were posted when it was killed`)
  const finished = await scene.reconcile('dearer.csv', csvOf(dearer), '--format', 'csv', '--post', '--yes')
  t.equal(finished.code, 0, finished.err)
  t.same(await balancesOf(scene), balancesAfter(scene, dearer))
  t.equal((await adjustmentsIn(scene)).length, dearer.length, 'each was posted once')
})
