import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startEmbedded } from '../../../src/infrastructure/embedded/embedded.ts'
import { until } from '../../clients.ts'
import { mountSmallDisk, noSmallDisk } from '../../small-disk.ts'
import { publish, readMessages } from './clients.ts'
import { freshFolder } from './fresh-folder.ts'
import { silent } from './silent.ts'

t.test('a nats-server whose disk was full is started anew once there is room', { timeout: 60_000 }, async (test) => {
  const disk = await mountSmallDisk(test, 24)
  if (disk === null) return test.plan(0, noSmallDisk)
  const dataFolder = join(freshFolder(test), 'data')
  mkdirSync(dataFolder, { recursive: true, mode: 0o711 })
  execFileSync('ln', ['-s', disk.folder, join(dataFolder, 'nats')])
  const embedded = await startEmbedded({
    dataFolder,
    clock: Date.now,
    logger: silent,
    onChildExit: ({ name }) => test.fail(`${name} ended`),
  })
  test.teardown(() => embedded.stop())
  await publish(embedded, 'one')
  disk.fill()
  let stood = 1
  await until(async () => {
    try {
      await publish(embedded, 'more '.repeat(1_000))
      stood += 1
      return false
    } catch {
      return true
    }
  })
  disk.free()
  await until(async () => {
    try {
      await publish(embedded, 'last')
      return true
    } catch {
      return false
    }
  })
  const messages = await readMessages(embedded)
  test.equal(messages[0], 'one')
  test.equal(messages.at(-1), 'last')
  test.ok(messages.length > stood, `what was acknowledged stands: ${stood} and the last`)
})
