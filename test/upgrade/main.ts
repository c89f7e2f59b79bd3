/** `make upgrade-test`: a data folder of the first commit that runs, up to this release under load, down, up, finished. */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { temporaryFolder } from '../support/gateway.ts'
import { freePort } from '../support/postgres.ts'
import {
  installRelease,
  type Release,
  type Running,
  runRelease,
  startRelease,
  stopRelease,
  thisRelease,
} from './release.ts'

/** The first whose lockfile installs and whose `serve` answers. */
const firstCommit = 'eb738e4afc104f0031ad8a199cd603aaffc4180e'
/** The last of release 0.1. */
const beforeCommit = '148854acb25d0310eff21f05861ecbc1a58fd678'
const clients = 4
const requestsAStep = 60
const retryMs = 50

/** Clients that ask again and again, through each restart. */
class Load {
  served = 0
  /** Without a response: on a kept connection that the stopping gateway closed at that moment. */
  unknown = 0
  #isStopped = false
  readonly #url: string
  readonly #key: string
  readonly #done: Promise<unknown>

  constructor(url: string, key: string) {
    this.#url = url
    this.#key = key
    this.#done = Promise.all(Array.from({ length: clients }, () => this.#ask()))
  }

  async waitForMore(): Promise<void> {
    const enough = this.served + requestsAStep
    while (this.served < enough) await pause(retryMs)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#done
  }

  async #ask(): Promise<void> {
    while (!this.#isStopped) if (!(await this.#askOnce())) await pause(retryMs)
  }

  async #askOnce(): Promise<boolean> {
    try {
      const response = await fetch(`${this.#url}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${this.#key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello!' }] }),
      })
      await response.text()
      if (response.ok) this.served += 1
      return response.ok
    } catch (fault) {
      if ((fault as { cause?: { code?: string } }).cause?.code !== 'ECONNREFUSED') this.unknown += 1
      return false
    }
  }
}

const figures = ['credits', 'charges', 'adjustments', 'balance', 'held', 'available'] as const
/** One input token at 0.15 USD a million, three of output at 0.60. */
const requestPicos = 1_950_000n
const picosOf = (usd: string): bigint => BigInt(Math.round(Number(usd) * 1e12))

t.test(
  'a log goes up, down and up again, and its ledger stays the same to the digit',
  { timeout: 1_100_000 },
  async (t) => {
    const first = await installRelease('the first release', firstCommit, [])
    const before = await installRelease('release 0.1', beforeCommit, ['--observe-port', 'off'])
    const port = await freePort()
    const dataFolder = join(await temporaryFolder(t), 'data')

    const readWallet = async (release: Release): Promise<Record<string, string>> => {
      const { code, out, err } = await runRelease(release, dataFolder, 'workspace', 'show', 'demo', '--json')
      t.equal(code, 0, err)
      const wallet = JSON.parse(out)
      return Object.fromEntries(figures.map((name) => [name, wallet[name]]))
    }

    let running: Running = await startRelease(first, dataFolder, port)
    t.teardown(() => running.process.kill('SIGTERM'))
    const load = new Load(`http://127.0.0.1:${port}/v1`, running.key)
    await load.waitForMore()

    /** Under load; the one that is stopped finishes its requests in flight. */
    const change = async (to: Release): Promise<void> => {
      t.equal(await stopRelease(running), 0, `${running.release.name} ends in order`)
      running = await startRelease(to, dataFolder, port)
      t.comment(`${to.name} answers, after ${load.served} responses`)
      await load.waitForMore()
    }

    const replay = async (release: Release, ...options: readonly string[]) => {
      const { code, err } = await runRelease(release, dataFolder, 'replay', ...options)
      if (options.length === 0) t.equal(code, 0, `the tables are those of the log: ${err}`)
    }

    await change(thisRelease)
    const { code, err } = await runRelease(thisRelease, dataFolder, 'workspace', 'suspend', 'demo')
    t.equal(code, 1)
    t.match(err, /WorkspaceSuspended cannot be in the log before its format is raised from 1 to 2/)
    await change(before)
    await replay(before, '--swap')
    await replay(before)
    await change(thisRelease)
    await load.stop()

    await replay(thisRelease)
    t.equal(await stopRelease(running), 0)
    const wallet = await readWallet(thisRelease)
    const charged = picosOf(wallet['charges']!) / requestPicos
    t.equal(charged * requestPicos, picosOf(wallet['charges']!), 'whole requests are charged')
    t.ok(
      charged >= load.served && charged <= load.served + load.unknown,
      'each response is charged once, and no other request',
    )
    t.same(await readWallet(before), wallet, 'the release before has the same ledger')

    const finished = await runRelease(thisRelease, dataFolder, 'upgrade', '--finish', '--json')
    t.match(JSON.parse(finished.out), { log_format: 2, finished: true })
    await t.rejects(
      startRelease(before, dataFolder, port),
      /type LogFormatRaised with schema events\/LogFormatRaised.v1.json is unknown to this version/,
    )
    running = await startRelease(thisRelease, dataFolder, port)
    t.same(await readWallet(thisRelease), wallet, 'the ledger is the same after the upgrade was finished')
    await replay(thisRelease)
    t.equal((await runRelease(thisRelease, dataFolder, 'workspace', 'suspend', 'demo')).code, 0)
    t.comment(`${load.served} responses, charged ${wallet['charges']} USD`)
  },
)
