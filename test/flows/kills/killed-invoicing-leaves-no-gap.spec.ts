import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { sayAt } from '../../dashboard/seed.ts'
import { tablesCaughtUp } from '../../dashboard/world.ts'
import { opened, routed, used } from '../../roles/projector/facts.ts'
import { until } from '../../support/clients.ts'
import { startTestGateway, temporaryFolder } from '../../support/gateway.ts'
import { mainFile, programEnvironment, runProgram } from '../../support/program.ts'

const dayMs = 86_400_000
const now = new Date()
/** The month before the last one, so that it can be closed on every day. */
const start = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 2)
const month = new Date(start).toISOString().slice(0, 7)
const lastDay = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1) - dayMs).toISOString().slice(0, 10)
const workspaces = Array.from({ length: 400 }, (_, place) => `customer-${place}`)

const audit = { sealing: true, origin: 'gateway.local/gateway', signer: null, verifier: null, previous: [] }
const { operator, config } = await startTestGateway(t, {
  config: { audit },
  openAccount: (context) => context.openAccount('acme', '0'),
})
const { dataFolder } = config
const run = async (folder: string, ...words: readonly string[]): Promise<string> => {
  const { code, out, err } = await runProgram(dataFolder, folder, ...words)
  if (code !== 0) throw new Error(`${words.join(' ')}: ${err}`)
  return out
}

const say = (days: number, facts: Parameters<typeof sayAt>[2]): Promise<void> =>
  sayAt({ config }, () => start + days * dayMs, facts)
await say(
  1,
  workspaces.map((id) => opened(id)),
)
await say(
  2,
  workspaces.flatMap((workspaceId) => [
    routed(`of-${workspaceId}`, { workspaceId }),
    used(`of-${workspaceId}`, { workspaceId }),
  ]),
)
await tablesCaughtUp({ operator })
const address = JSON.stringify(
  Array.from({ length: 8 }, (_, line) => `Line ${line} of an address${' that is long'.repeat(10)}`),
)
await writeFile(join(dataFolder, 'gateway.yaml'), `invoices: { seller: { name: Seller, address: ${address} } }\n`)
await run(dataFolder, 'close', month)

interface Listed {
  readonly id: string
  readonly number: number
  readonly workspace: string
}

const listInvoices = async (folder = dataFolder): Promise<readonly Listed[]> =>
  (await run(folder, 'invoice', 'list', '--month', month, '--json'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

t.test('killed between the frames of its invoices, the next run goes on after the last number', async (t) => {
  const countIssued = (): number => operator.tail.ledger.invoices.issued.size
  const words = ['invoice', 'issue', month, '--data', dataFolder]
  for (let kills = 0; kills < 2; kills += 1) {
    const before = countIssued()
    const child = spawn(process.execPath, [mainFile, ...words], {
      cwd: dataFolder,
      env: programEnvironment(),
      stdio: 'ignore',
    })
    const exited = once(child, 'exit')
    await Promise.race([until(() => countIssued() > before), exited])
    child.kill('SIGKILL')
    await exited
    t.comment(`killed with ${countIssued()} of ${workspaces.length} invoices`)
  }
  await run(dataFolder, 'invoice', 'issue', month)
  const listed = await listInvoices()
  t.same(
    listed.map(({ number }) => number),
    workspaces.map((_, place) => workspaces.length - place),
  )
  t.same(new Set(listed.map(({ workspace }) => workspace)), new Set(workspaces))
})

/** Stores the ids of each batch before it answers, so that it can be killed between the two. */
const receiver = `
  const { appendFileSync } = require('node:fs')
  const server = require('node:http').createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    appendFileSync(process.argv[1], JSON.parse(body).map(({ id }) => id + '\\n').join(''))
    setTimeout(() => response.end(), 50)
  })
  server.listen(Number(process.argv[2]), '127.0.0.1', () => process.send(server.address().port))`

t.test('usage events: the receiver and the exporter are killed, and each event is received', async (t) => {
  const [ids, position] = [join(dataFolder, 'ids'), join(dataFolder, 'position')]
  await writeFile(ids, '')
  const received = async (): Promise<readonly string[]> => (await readFile(ids, 'utf8')).trim().split('\n')
  const startReceiver = async (at: number) => {
    const child = spawn(process.execPath, ['-e', receiver, ids, String(at)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const [port] = await once(child, 'message')
    return { port: Number(port), kill: () => Promise.all([once(child, 'exit'), child.kill('SIGKILL')]) }
  }
  const first = await startReceiver(0)
  const to = `http://127.0.0.1:${first.port}`
  const words = ['export', 'events', '--format', 'cloudevents', '--to', to, '--position', position]
  const child = spawn(process.execPath, [mainFile, ...words, '--data', dataFolder], {
    env: programEnvironment(),
    stdio: 'ignore',
  })
  const exited = once(child, 'exit')
  await until(async () => (await received()).length >= 100)
  await first.kill()
  const second = await startReceiver(first.port)
  await until(async () => (await received()).length > 200)
  child.kill('SIGKILL')
  await exited
  t.match(await readFile(position, 'utf8'), /^\d+\n$/)
  await run(dataFolder, ...words)
  await second.kill()
  const all = await received()
  t.same(new Set(all), new Set(workspaces.map((workspaceId) => `of-${workspaceId}`)))
  t.ok(
    all.length <= workspaces.length + 300,
    `${all.length} were sent: again at most a batch for each kill, and the frame of the position`,
  )
})

/** What is kept of a month, each as its bytes. */
const documents = async (folder: string): Promise<Readonly<Record<string, string>>> => {
  const [{ id = '' } = {}] = await listInvoices(folder)
  const range = ['--from', `${month}-01`, '--to', lastDay, '--json', '--holds']
  return {
    hledger: await run(folder, 'export', 'journal', '--month', month, '--format', 'hledger'),
    beancount: await run(folder, 'export', 'journal', '--month', month, '--format', 'beancount'),
    focus: await run(folder, 'export', 'focus', '--month', month),
    statement: await run(folder, 'statement', 'customer-7', ...range),
    invoice: await run(folder, 'invoice', 'print', id),
    digest: JSON.parse(await run(folder, 'invoice', 'show', id, '--json')).digest,
    periods: await run(folder, 'periods', '--json'),
  }
}

t.test('statement, journals, FOCUS and invoices are the same bytes after a restore', async (t) => {
  const kept = await documents(dataFolder)
  t.equal(hash('sha256', kept['invoice']!), kept['digest'])
  const folder = await temporaryFolder(t)
  const [backup, restored] = [join(folder, 'backup'), join(folder, 'restored')]
  await run(dataFolder, 'backup', backup)
  await run(restored, 'restore', backup)
  await run(restored, 'replay', '--swap')
  t.same(await documents(restored), kept)
})
