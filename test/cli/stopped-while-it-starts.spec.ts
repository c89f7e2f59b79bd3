import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { endProcess, isAlive } from '../../src/embedded/processes.ts'
import { readRecord } from '../../src/embedded/record.ts'
import { until } from '../support/clients.ts'
import { prepareDataFolder } from '../support/clusters.ts'
import { temporaryFolder } from '../support/gateway.ts'
import { inLongForm } from '../support/long-form.ts'
import { mainFile, programEnvironment } from '../support/program.ts'

for (const words of inLongForm([['serve', '--port', '0'], ['servers']], ([word]) => word === 'serve'))
  t.test(`${words[0]}: SIGTERM while the embedded servers start leaves none behind`, async (t) => {
    const dataFolder = join(await temporaryFolder(t), 'data')
    const child = spawn(process.execPath, [mainFile, ...words, '--data', dataFolder], {
      stdio: 'ignore',
      env: programEnvironment(),
    })
    t.teardown(() => child.kill('SIGKILL'))
    const exited = once(child, 'exit')
    const started = () => readRecord(dataFolder)?.servers ?? []
    await until(() => started().length > 0)
    t.equal(readRecord(dataFolder)?.addresses, null, 'they are not ready')
    const seen = started()
    t.teardown(() => Promise.all(seen.map((server) => endProcess(server, ['SIGKILL']))))
    child.kill('SIGTERM')
    t.same(await exited, [0, null])
    t.notOk(seen.some(isAlive))
    t.equal(readRecord(dataFolder), null, 'nothing is left to clear')
  })

t.test('SIGHUP and SIGUSR2 end no gateway without workers, while it starts or later', async (t) => {
  const dataFolder = await temporaryFolder(t)
  await prepareDataFolder(dataFolder)
  const child = spawn(process.execPath, [mainFile, 'serve', '--port', '0', '--data', dataFolder], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: programEnvironment(),
  })
  t.teardown(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  let logged = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    logged += text
  })
  await until(() => (readRecord(dataFolder)?.servers ?? []).length > 0)
  await until(() => {
    child.kill('SIGHUP')
    child.kill('SIGUSR2')
    return logged.includes('"process.no_workers"') || child.exitCode !== null || child.signalCode !== null
  })
  child.kill('SIGTERM')
  t.same(await exited, [0, null], logged)
})
