import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Embedded, type ServerExit, startEmbedded } from '../../src/embedded/embedded.ts'
import { findNatsServer } from '../../src/embedded/nats.ts'
import { until } from '../support/clients.ts'
import { silentLogger } from '../support/log-lines.ts'
import { mountSmallDisk, noSmallDisk, type SmallDisk } from '../support/small-disk.ts'
import { publish, readMessages } from './clients.ts'
import { freshFolder } from './fresh-folder.ts'

/** A data folder whose log is on a disk of its own. */
const dataFolderOn = (test: Test, disk: SmallDisk): string => {
  const dataFolder = join(freshFolder(test), 'data')
  mkdirSync(dataFolder, { recursive: true, mode: 0o711 })
  symlinkSync(disk.folder, join(dataFolder, 'nats'))
  return dataFolder
}

const publishes = async (embedded: Embedded, message: string): Promise<boolean> => {
  try {
    await publish(embedded, message)
    return true
  } catch {
    return false
  }
}

t.test('a nats-server whose disk was full is started anew once there is room', async (test) => {
  const disk = await mountSmallDisk(test, 24)
  if (disk === null) return test.plan(0, noSmallDisk)
  const embedded = await startEmbedded({
    dataFolder: dataFolderOn(test, disk),
    clock: Date.now,
    logger: silentLogger,
    onChildExit: ({ name }) => test.fail(`${name} ended`),
  })
  test.teardown(() => embedded.stop())
  await publish(embedded, 'one')
  disk.fill()
  let stood = 1
  await until(async () => {
    const isStored = await publishes(embedded, 'more '.repeat(1_000))
    if (isStored) stood += 1
    return !isStored
  })
  disk.free()
  await until(() => publishes(embedded, 'last'))
  const messages = await readMessages(embedded)
  test.equal(messages[0], 'one')
  test.equal(messages.at(-1), 'last')
  test.ok(messages.length > stood, `what was acknowledged stands: ${stood} and the last`)
})

t.test('and where it cannot be started anew, its end is reported', async (test) => {
  const disk = await mountSmallDisk(test, 24)
  if (disk === null) return test.plan(0, noSmallDisk)
  const natsServerBin = join(freshFolder(test), 'nats-server')
  symlinkSync(await findNatsServer(undefined, silentLogger), natsServerBin)
  const told: ServerExit[] = []
  const embedded = await startEmbedded({
    dataFolder: dataFolderOn(test, disk),
    clock: Date.now,
    logger: silentLogger,
    natsServerBin,
    onChildExit: (exit) => told.push(exit),
  })
  test.teardown(() => embedded.stop())
  await publish(embedded, 'one')
  disk.fill()
  await until(async () => !(await publishes(embedded, 'more '.repeat(1_000))))
  rmSync(natsServerBin)
  disk.free()
  await until(() => told.length > 0, 20_000)
  test.match(told, [{ name: 'nats' }])
})
