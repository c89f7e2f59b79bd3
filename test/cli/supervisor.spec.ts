import { type ChildProcess, fork } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { until } from '../support/clients.ts'
import { temporaryFolder } from '../support/gateway.ts'
import { programFlags } from '../support/program.ts'
import type { SupervisorCommand } from './supervised-program.ts'

const program = fileURLToPath(new URL('supervised-program.ts', import.meta.url))

interface Line {
  readonly event?: string
  readonly process?: string
  readonly pid?: number
  readonly done?: string
  readonly result?: unknown
}

type Behaviour = 'serve' | 'end' | 'wait' | 'block'

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

class SupervisorProcess {
  readonly folder: string
  readonly lines: Line[] = []
  readonly #child: ChildProcess

  private constructor(folder: string, stopMs: number) {
    this.folder = folder
    this.#child = fork(program, ['supervisor', folder, String(stopMs)], { execArgv: [...programFlags] })
    this.#child.on('message', (line: Line) => this.lines.push(line))
    this.#child.once('exit', (code, signal) => this.lines.push({ event: 'exit', result: code ?? signal }))
  }

  /** With one worker and a background process, both of which have started. */
  static async start(t: Test, stopMs = 500): Promise<SupervisorProcess> {
    const folder = await temporaryFolder(t)
    writeFileSync(join(folder, 'behaviour'), 'serve')
    const supervisor = new SupervisorProcess(folder, stopMs)
    t.teardown(() => supervisor.#child.kill('SIGKILL'))
    await until(() => supervisor.lines.some(({ done }) => done === 'start'))
    return supervisor
  }

  /** Of the workers that start from here on. */
  behave(behaviour: Behaviour): void {
    writeFileSync(join(this.folder, 'behaviour'), behaviour)
  }

  of(event: string, name = 'worker-1'): readonly Line[] {
    return this.lines.filter((line) => line.event === event && line.process === name)
  }

  get workers(): readonly number[] {
    return this.of('supervisor.process_started').flatMap(({ pid }) => (pid !== undefined && isAlive(pid) ? [pid] : []))
  }

  async do(command: SupervisorCommand): Promise<unknown> {
    const isDone = ({ done }: Line): boolean => done === command.type
    const before = this.lines.filter(isDone).length
    this.#child.send(command)
    await until(() => this.lines.filter(isDone).length > before || this.lines.some(({ event }) => event === 'exit'))
    const line = this.lines.findLast(isDone)
    if (line === undefined) throw new Error(`the supervisor has ended: ${JSON.stringify(this.lines)}`)
    return line.result
  }
}

const started = 'supervisor.process_started'
const ended = 'supervisor.process_ended'

t.test('a restart takes the place of a worker that waits for its turn to be started again', async (t) => {
  const supervisor = await SupervisorProcess.start(t)
  supervisor.behave('end')
  process.kill(supervisor.workers[0]!, 'SIGKILL')
  await until(() => supervisor.of(ended).length === 3) // The next start is a second away.
  supervisor.behave('serve')
  await supervisor.do({ type: 'restart' })
  const count = supervisor.of(started).length
  await pause(1_500)
  t.equal(supervisor.of(started).length, count, 'no second process is started in its place')
  t.equal(supervisor.workers.length, 1)
  t.same(await supervisor.do({ type: 'list' }), ['background first', 'worker-1 first'])
  await supervisor.do({ type: 'stop' })
})

t.test('a worker that starts while the configuration is changed serves with the changed one', async (t) => {
  const supervisor = await SupervisorProcess.start(t)
  supervisor.behave('wait')
  const restarted = supervisor.do({ type: 'restart' })
  await until(() => existsSync(join(supervisor.folder, 'waits')))
  await supervisor.do({ type: 'configure', text: 'second' })
  supervisor.behave('serve')
  writeFileSync(join(supervisor.folder, 'go'), '')
  await restarted
  t.same(await supervisor.do({ type: 'list' }), ['background second', 'worker-1 second'])
  t.equal(supervisor.workers.length, 1)
  t.same(supervisor.of(ended), [], 'none has ended unasked')
  await supervisor.do({ type: 'stop' })
})

t.test('a worker that ends again and again prevents no change of the configuration, and starts with it', async (t) => {
  const supervisor = await SupervisorProcess.start(t)
  supervisor.behave('end')
  process.kill(supervisor.workers[0]!, 'SIGKILL')
  await until(() => supervisor.of(ended).length === 3)
  supervisor.behave('serve')
  await supervisor.do({ type: 'configure', text: 'second' })
  await until(() => supervisor.workers.length === 1)
  t.same(await supervisor.do({ type: 'list' }), ['background second', 'worker-1 second'])
  await supervisor.do({ type: 'stop' })
})

t.test('a worker that starts is not ready, and no reason to restart the others', async (t) => {
  const supervisor = await SupervisorProcess.start(t)
  const serving = { 'background.configuration': { ok: true, reason: 'first' } }
  supervisor.behave('wait')
  process.kill(supervisor.workers[0]!, 'SIGKILL')
  await until(() => existsSync(join(supervisor.folder, 'waits')))
  const starting = 'is starting'
  t.same(await supervisor.do({ type: 'overview' }), {
    alive: { ...serving, 'worker-1.process': { ok: true, reason: starting } },
    ready: { ...serving, 'worker-1.process': { ok: false, reason: starting } },
  })
  writeFileSync(join(supervisor.folder, 'go'), '')
  await until(() => supervisor.workers.length === 1)
  const whole = { ...serving, 'worker-1.configuration': { ok: true, reason: 'first' } }
  t.same(await supervisor.do({ type: 'overview' }), { alive: whole, ready: whole })
  await supervisor.do({ type: 'stop' })
})

t.test('a worker whose event loop is blocked is killed, and the restart goes on', async (t) => {
  const supervisor = await SupervisorProcess.start(t)
  supervisor.behave('block')
  await supervisor.do({ type: 'restart' })
  const [blocked] = supervisor.workers
  supervisor.behave('serve')
  await supervisor.do({ type: 'restart' })
  t.notOk(isAlive(blocked!))
  t.equal(supervisor.workers.length, 1)
  t.equal(supervisor.lines.filter(({ event }) => event === 'supervisor.restarted').length, 2)
  await supervisor.do({ type: 'stop' })
})

t.test('a worker that is starting stops once it has started', async (t) => {
  const supervisor = await SupervisorProcess.start(t, 600_000)
  supervisor.behave('wait')
  process.kill(supervisor.workers[0]!, 'SIGKILL')
  await until(() => existsSync(join(supervisor.folder, 'waits')))
  const stopped = supervisor.do({ type: 'stop' })
  await supervisor.do({ type: 'mend_spawning' }) // It is carried out after the stop was begun.
  writeFileSync(join(supervisor.folder, 'go'), '')
  await stopped
  t.ok(existsSync(join(supervisor.folder, 'worker-stopped')))
})

t.test('where no process can be started the others serve on, and it is tried again', async (t) => {
  const supervisor = await SupervisorProcess.start(t)
  await supervisor.do({ type: 'break_spawning' })
  process.kill(supervisor.workers[0]!, 'SIGKILL')
  await until(() => supervisor.of(ended).length >= 2 || supervisor.lines.some(({ event }) => event === 'exit'))
  t.match(supervisor.of(ended)[1], { code: null, signal: null, fault: { code: 'ENOENT' } })
  await supervisor.do({ type: 'mend_spawning' })
  await until(() => supervisor.workers.length === 1)
  t.same(await supervisor.do({ type: 'list' }), ['background first', 'worker-1 first'])
  await supervisor.do({ type: 'stop' })
})
