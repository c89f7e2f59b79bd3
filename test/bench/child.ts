/** The bench's own processes, and what they say to it. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'

export interface BenchProcess {
  readonly pid: number
  /** Sends one question and gives the answer to it; one at a time. */
  ask<Answer>(question?: object): Promise<Answer>
  stop(): Promise<void>
}

/** Ends a child and waits until it has; rejects nothing when it had ended before. */
export const endChild = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}

const messageOf = async <Message>(child: ChildProcess): Promise<Message> => {
  const settled = new AbortController()
  const { signal } = settled
  try {
    const [message] = await Promise.race([
      once(child, 'message', { signal }),
      once(child, 'exit', { signal }).then(([code]) => {
        throw new Error(`${child.spawnargs.at(-1)} ended with ${code}`)
      }),
    ])
    return message as Message
  } finally {
    settled.abort()
  }
}

/** Starts a script of this folder in a process of its own. */
export const startProcess = (
  script: string,
  args: readonly string[] = [],
  flags: readonly string[] = [],
): BenchProcess => {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), args, {
    execArgv: [...process.execArgv, ...flags],
  })
  return {
    pid: child.pid!,
    ask: (question) => {
      if (question !== undefined) child.send(question)
      return messageOf(child)
    },
    stop: () => endChild(child),
  }
}

export interface ServerAddress {
  readonly url: string
}

const endWithTheBench = (): void => {
  process.once('disconnect', () => process.exit())
}

/** In a process that serves: listens, on a free port where none is named, and says where. */
export const becomeServer = (server: Server, port = 0): void => {
  endWithTheBench()
  server.listen(port, '127.0.0.1', () => {
    const { port: listening } = server.address() as AddressInfo
    process.send!({ url: `http://127.0.0.1:${listening}` } satisfies ServerAddress)
  })
}

/** In a process that works to order: answers every question with what `work` makes of it. */
export const answerQuestions = <Question>(work: (question: Question) => Promise<object>): void => {
  endWithTheBench()
  process.on('message', async (question) => process.send!(await work(question as Question)))
}
