import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startSandbox } from '../../../sandbox/server.ts'
import { createSigner, deriveVerifier, verifierText } from '../../../src/audit/note.ts'
import { listLogVerifiers } from '../../../src/cli/audit-keys.ts'
import { startGateway } from '../../../src/cli/gateway.ts'
import { requireTables } from '../../../src/cli/platform.ts'
import { rebuildReadModels } from '../../../src/cli/replay.ts'
import type { RawFrame } from '../../../src/log/raw-frames.ts'
import { findSealFor } from '../../../src/projections/seals/queries.ts'
import { Clients, chat, chatBody, type Seen, until } from '../../support/clients.ts'
import { prepareDataFolder } from '../../support/clusters.ts'
import { Deployment } from '../../support/deployment.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import {
  configOf,
  type Operator,
  openOperator,
  runtime,
  startTestGateway,
  temporaryFolder,
} from '../../support/gateway.ts'
import { checkpointsAmong, checkSealed, framesOf, newsAmong, sealedAfterMs } from '../../support/sealing.ts'

const origin = 'gateway.test/ledger'

/** How late a timer of this process came at worst: what a machine that does a dozen other things adds to whatever is timed. */
class Lateness {
  #worstMs = 0
  #lastMs = performance.now()
  readonly #timer = setInterval(() => {
    const nowMs = performance.now()
    this.#worstMs = Math.max(this.#worstMs, nowMs - this.#lastMs - lookEveryMs)
    this.#lastMs = nowMs
  }, lookEveryMs)

  stop(): number {
    clearInterval(this.#timer)
    return this.#worstMs
  }
}

const lookEveryMs = 20

/** The longest that nothing was stored under load: a slow disk is seen by that. */
const longestPauseMs = (frames: readonly RawFrame[]): number =>
  Math.max(0, ...frames.slice(1).map(({ storedMs }, place) => storedMs - frames[place]!.storedMs))

const isSealed = (frames: readonly RawFrame[]): boolean => {
  const last = newsAmong(frames).at(-1)?.sequence ?? 0
  return checkpointsAmong(frames).some(({ size }) => size >= last)
}

/** Of each checkpoint so far, the frames that it seals. */
const sealedSizes = async (operator: Operator): Promise<readonly number[]> =>
  (await operator.events()).flatMap((event) => (event.type === 'CheckpointSealed' ? [event.data.size] : []))

/** No allowance is out whose return would be news, and all is sealed: nothing more will be said. */
const isQuiet = async (operator: Operator): Promise<boolean> => {
  await operator.caughtUp()
  const isReturned = [...operator.tail.ledger.wallets.values()].every(({ heldPicos }) => heldPicos === 0n)
  return isReturned && isSealed(await framesOf(operator.platform.log))
}

/** Without a pause the load is the machine's whole, and says nothing more of sealing. */
const chatThenPause = async (url: string, secret: string): Promise<Seen> => {
  const seen = await chat(url, secret, chatBody('openai/plain', true))
  await pause(100)
  return seen
}

/** A machine that others load is late in more ways than are measured here. */
const sealedMsMax = process.env['CHAOS_ROUNDS'] === undefined ? 10_000 : 1_000

const quantile = (values: readonly number[], part: number): number =>
  values.toSorted((one, other) => one - other)[Math.floor(part * (values.length - 1))] ?? 0

t.test('a gateway under load, twice: every frame is sealed within about a second', async (t) => {
  const dataFolder = await temporaryFolder(t)
  await prepareDataFolder(dataFolder)
  const sandbox = await startSandbox(runtime)
  t.teardown(() => sandbox.stop())
  const audit = { sealing: true, origin, signer: null, verifier: null, previous: [] }
  const config = configOf(dataFolder, sandbox.url, { config: { audit } })
  let secret = ''
  for (const life of ['the first', 'the second']) {
    const gateway = await startGateway(config, runtime, (fault) => t.fail(fault.message))
    const operator = await openOperator(config)
    const { log } = operator
    const raw = operator.platform.log
    secret ||= (await operator.openAccount('acme', '100')).secret
    const before = (await sealedSizes(operator)).length
    const lateness = new Lateness()
    const load = new Clients(4, () => chatThenPause(gateway.url, secret))
    await until(async () => (await sealedSizes(operator)).length >= before + 2)
    await load.stop()
    const loaded = await framesOf(raw)
    const lateMs = lateness.stop()
    await until(() => isQuiet(operator))

    const frames = await framesOf(raw)
    const checkpoints = checkSealed(t, frames, listLogVerifiers(config))
    t.pass(`${checkpoints.length} checkpoints over ${frames.length} frames, each of them believed`)
    t.same(
      checkpoints.slice(1).map(({ from }) => from),
      checkpoints.slice(0, -1).map(({ size }) => size),
      'each goes on where the one before ended',
    )
    const first = checkpoints[before]!
    const waited = sealedAfterMs(frames.slice(0, loaded.length), first.size, checkpoints)
    const slackMs = 2 * (lateMs + longestPauseMs(loaded.slice(first.size)))
    const [most, all] = [quantile(waited, 0.95), Math.max(...waited)]
    const told = `in ${life} life 95 of 100 frames are sealed in ${most} ms, all in ${all}, on a machine ${slackMs} ms late`
    t.comment(told)
    t.ok(all <= sealedMsMax + slackMs, told)

    const { database, place } = requireTables(operator.platform)
    await until(async () => (await database.checkpoint()) === (await log.lastSequence()))
    const last = checkpoints.at(-1)!
    t.match(await database.lastSeal(), { size: last.size, sequence: last.sequence, note: last.note })
    t.match(await findSealFor(database.db, first.from + 1), { from: first.from, size: first.size })
    t.equal(await findSealFor(database.db, last.size + 1), undefined)
    t.ok((await rebuildReadModels({ log, place, swap: false })).equal, 'the tables equal a rebuild')
    await operator.stop()
    await gateway.stop()
  }
  const privateKey = join(dataFolder, 'audit', 'signing-key')
  t.equal((await stat(privateKey)).mode & 0o777, 0o600)
  const publicKey = await readFile(join(dataFolder, 'audit', 'public-key.txt'), 'utf8')
  t.equal(publicKey, `${listLogVerifiers(config).map((each) => verifierText(each))[0]}\n`)
})

t.test('two schedulers, and the one that seals is killed', async (t) => {
  const { direct } = await startExternalServers(t)
  const signer = createSigner(origin, Buffer.alloc(32, 7))
  const audit = { sealing: true, origin, signer, verifier: deriveVerifier(signer), previous: [] }
  const deployment = await Deployment.start(t, {
    external: direct,
    counts: { scheduler: 2, 'video-poller': 0 },
    apart: (role) => role === 'scheduler',
    config: { audit },
  })
  const { operator } = deployment
  const raw = operator.platform.log
  const { secret } = await operator.openAccount('acme', '100')
  const load = new Clients(2, () => chatThenPause(deployment.urls[0]!, secret))
  t.teardown(() => load.stop())
  const sealsOn = async (): Promise<void> => {
    const last = await raw.lastSequence()
    await until(async () => (await sealedSizes(operator)).some((size) => size > last))
  }
  await sealsOn()
  for (const index of [0, 1]) {
    await deployment.end('scheduler', index, 'SIGKILL')
    await sealsOn()
    t.pass(`without scheduler ${index} the other seals`)
    await deployment.start('scheduler', index)
    await sealsOn()
  }
  await load.stop()
  await until(() => isQuiet(operator))
  const frames = await framesOf(raw)
  const checkpoints = checkSealed(t, frames, [deriveVerifier(signer)])
  const writers = new Set(checkpoints.map(({ writer }) => writer)).size
  t.ok(writers >= 2, `${checkpoints.length} checkpoints of ${writers} schedulers over ${frames.length} frames`)
  t.pass(`no frame waited for longer than ${Math.max(...sealedAfterMs(frames, checkpoints[0]!.size))} ms`)
  t.notMatch(deployment.logged, /"event":"(audit|seal)\./)
})

t.test('a gateway that is stopped leaves a log that is sealed to its end', async (t) => {
  const { direct } = await startExternalServers(t)
  const signer = createSigner(origin, Buffer.alloc(32, 7))
  const audit = { sealing: true, origin, signer, verifier: deriveVerifier(signer), previous: [] }
  const { gateway, operator, account } = await startTestGateway(t, { config: { external: direct, audit } })
  t.match(await chat(gateway.url, account.secret, chatBody('openai/plain', false)), { status: 200 })
  await gateway.stop()
  const frames = await framesOf(operator.platform.log)
  checkSealed(t, frames, [deriveVerifier(signer)])
  t.ok(isSealed(frames), `the last of ${frames.length} frames with news is sealed`)
})
