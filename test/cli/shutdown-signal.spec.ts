import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import t from 'tap'
import { cliLimits } from '../../src/cli/command-limits.ts'
import { programEnvironment } from '../support/program.ts'

/** Listens on a clock that reads what is written to it, and prints each signal once it is handled. */
const script = `
  import { onShutdownSignal } from '${new URL('../../src/cli/shutdown-signal.ts', import.meta.url)}'
  let nowMs = 0
  onShutdownSignal(() => console.log('stop'), () => nowMs)
  process.on('SIGINT', () => console.log('handled'))
  process.stdin.on('data', (text) => { nowMs = Number(text); console.log('ready') })`

t.test('a signal that follows the first at once is its echo; a later one ends the process', async (t) => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { env: programEnvironment() })
  t.teardown(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const signalAt = async (ms: number): Promise<void> => {
    child.stdin.write(String(ms))
    t.same(await lines.next(), { value: 'ready', done: false })
    child.kill('SIGINT')
  }
  await signalAt(1_000)
  t.same(
    [await lines.next(), await lines.next()].map(({ value }) => value),
    ['stop', 'handled'],
  )
  await signalAt(1_000 + cliLimits.signalEchoMs)
  t.same(await lines.next(), { value: 'handled', done: false }, 'it runs on, and is not stopped twice')
  await signalAt(1_001 + cliLimits.signalEchoMs)
  t.same(await exited, [3, null])
})

t.test('the end of the shell that npx started it in is a signal', async (t) => {
  const waiting = `
    import { onShutdownSignal } from '${new URL('../../src/cli/shutdown-signal.ts', import.meta.url)}'
    const stopped = onShutdownSignal()
    console.log('ready')
    await stopped()
    console.log('stopped')
    process.exit()`
  const command = `"$0" --input-type=module -e "$1"; true`
  const shell = spawn('sh', ['-c', command, process.execPath, waiting], {
    env: programEnvironment({ npm_lifecycle_event: 'npx' }),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: shell.stdout })[Symbol.asyncIterator]()
  t.same(await lines.next(), { value: 'ready', done: false })
  shell.kill('SIGTERM')
  t.same(await lines.next(), { value: 'stopped', done: false })
})
