import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { until } from '../../support/clients.ts'
import { adjustment, adjustmentIdsOf, hold, openOn, readAll } from './open.ts'
import { NatsServer } from './server.ts'

const endings = [
  { signal: 'SIGKILL', awayMs: 0 },
  { signal: 'SIGTERM', awayMs: 0 },
  { signal: 'SIGKILL', awayMs: 1_500 },
] as const
const writers = 50

t.test('a server killed under load loses no acknowledged frame, doubles none, and its followers go on', async (t) => {
  const server = await NatsServer.create()
  const opened = await openOn(server)
  t.teardown(async () => {
    await opened.close()
    await server.remove()
  })
  const stored = new Map<string, number>()
  const followed: number[] = []
  const follower = opened.log.follow(1, ({ sequence }) => void followed.push(sequence))
  let isRunning = true
  const appendOneByOne = async (writer: number): Promise<void> => {
    for (let index = 0; isRunning; index += 1) {
      const id = `a-${writer}-${index}`
      stored.set(id, (await opened.log.append([adjustment(id)])).sequence)
    }
  }
  const spend = async (workspaceId: string): Promise<number[]> => {
    const sequences = [0]
    while (isRunning) {
      const id = `${workspaceId}-${sequences.length}`
      const result = await opened.log.appendToWallet(workspaceId, [hold(id, workspaceId)], sequences.at(-1) ?? 0)
      if ('conflict' in result) throw new Error(`${id} met a conflict with nobody`)
      sequences.push(result.sequence)
    }
    return sequences.slice(1)
  }
  const appending = Promise.all(Array.from({ length: writers }, (_, index) => appendOneByOne(index)))
  const spending = Promise.all(['acme', 'beta', 'gamma'].map(spend))
  for (const { signal, awayMs } of endings) {
    const before = stored.size
    await until(() => stored.size > before + writers * 20)
    await server.stop(signal)
    await delay(awayMs)
    await server.start()
  }
  const before = stored.size
  await until(() => stored.size > before + writers * 20)
  isRunning = false
  await appending
  const holds = (await spending).flat()
  const last = await opened.log.lastSequence()
  await until(() => followed.at(-1) === last)
  await follower.stop()

  const frames = await readAll(opened.log)
  t.same(
    frames.map(({ sequence }) => sequence),
    followed,
    'the follower saw every frame once, in order',
  )
  const ids = frames.map(({ writer, counter }) => `${writer}:${counter}`)
  t.equal(new Set(ids).size, ids.length, 'no frame id stands twice')
  const standing = frames.flatMap((frame) => adjustmentIdsOf(frame).map((id) => [id, frame.sequence] as const))
  t.equal(standing.length, stored.size, 'each event stands once')
  t.ok(
    standing.every(([id, sequence]) => stored.get(id) === sequence),
    'where its appender was told',
  )
  const walletFrames = frames.filter(({ walletSubject }) => walletSubject !== null).map(({ sequence }) => sequence)
  t.same(
    holds.toSorted((a, b) => a - b),
    walletFrames,
    'each hold stands once',
  )
  t.comment(
    `${stored.size} events and ${holds.length} holds in ${frames.length} frames over ${endings.length} restarts`,
  )
  t.same(opened.fatal, [])
})
