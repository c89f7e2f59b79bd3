/**
 * A supervisor, or one of its processes. The test directs the supervisor by messages. A worker behaves as the file
 * `behaviour` says when it starts: `serve`, `end` once it has started, `wait` with its start for a file `go`, or `block`
 * when it is to stop.
 */
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { SupervisedProcess } from '../../src/cli/supervised-process.ts'
import type { Configured, ProcessMessage, SupervisorMessage } from '../../src/cli/supervisor-messages.ts'
import type { Logger } from '../../src/runtime/logger.ts'

export type SupervisorCommand =
  | { readonly type: 'restart' | 'list' | 'overview' | 'stop' | 'break_spawning' | 'mend_spawning' }
  /** Puts another configuration in force, as a reload does. */
  | { readonly type: 'configure'; readonly text: string }

const [role = '', folder = '', stopMs = ''] = process.argv.slice(2)

const report = (message: object): void => {
  process.send?.(message)
}

const configuredOf = (text: string): Configured => ({ type: 'configured', files: [['gateway.yaml', text]] })

const direct = async (): Promise<void> => {
  // A worker starts sooner without them.
  const { Supervisor } = await import('../../src/cli/supervisor.ts')
  const { createOverview } = await import('../../src/cli/supervisor-overview.ts')
  const { execPath } = process
  let configured = configuredOf('first')
  const logger: Logger = { log: (event, fields) => report({ event, ...fields }) }
  const supervisor = new Supervisor({
    workers: 1,
    argumentsFor: (name) => [name, folder],
    configured: () => configured,
    onStarted: () => undefined,
    stopMs: Number(stopMs),
    runtime: { logger },
  })
  const configure = async (text: string): Promise<void> => {
    const next = configuredOf(text)
    await supervisor.prepareReload(next.files)
    configured = next
    supervisor.commitReload()
  }
  const textOf = async (each: SupervisedProcess): Promise<string> =>
    (await each.observe()).ready.configuration?.reason ?? ''
  const overview = createOverview(
    () => supervisor.processes,
    () => ({}),
  )
  const carryOut = async (command: SupervisorCommand): Promise<unknown> => {
    switch (command.type) {
      case 'restart':
        return supervisor.restart()
      case 'configure':
        return configure(command.text)
      case 'list':
        return Promise.all(supervisor.processes.map(async (each) => `${each.name} ${await textOf(each)}`))
      case 'overview':
        return { alive: await overview.alive(), ready: await overview.ready() }
      case 'break_spawning':
        process.execPath = '/nonexistent'
        return
      case 'mend_spawning':
        process.execPath = execPath
        return
      case 'stop':
        return supervisor.stop()
    }
  }
  process.on('message', async (command: SupervisorCommand) => {
    const result = await carryOut(command)
    report({ done: command.type, result })
    if (command.type === 'stop') process.disconnect()
  })
  await supervisor.start()
  report({ done: 'start' })
}

const answer = (message: ProcessMessage): void => report(message)

const serve = async (): Promise<void> => {
  const behaviour = role === 'worker' ? readFileSync(join(folder, 'behaviour'), 'utf8') : 'serve'
  const [configured] = (await once(process, 'message')) as [Configured]
  let [text, next] = [configured.files[0]?.[1] ?? '', '']
  // As the gateway does, which loads its roles first: what comes meanwhile is lost to a worker.
  if (behaviour === 'wait') {
    writeFileSync(join(folder, 'waits'), '')
    while (!existsSync(join(folder, 'go'))) await pause(10)
  }
  process.on('message', (message: SupervisorMessage) => {
    switch (message.type) {
      case 'observe': {
        const check = { configuration: { ok: true, reason: text } }
        return answer({ type: 'observed', id: message.id, figures: [], alive: check, ready: check })
      }
      case 'reload_prepare':
        next = message.files[0]?.[1] ?? ''
        return answer({ type: 'reload_prepared', id: message.id, fault: null })
      case 'reload_commit':
        text = next
        return
      case 'stop':
        while (behaviour === 'block') Math.sqrt(2)
        writeFileSync(join(folder, `${role}-stopped`), '')
        return process.exit(0)
    }
  })
  process.once('disconnect', () => process.exit(0))
  answer({ type: 'started', url: null, writer: `${role}:${process.pid}`, offer: null })
  if (behaviour === 'end') process.exit(1)
}

await (role === 'supervisor' ? direct() : serve())
