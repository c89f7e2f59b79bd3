import { buildLogNames } from '../log-stream.ts'

export interface QueueNames {
  readonly consumer: string
  readonly itemPrefix: string
  readonly piecePrefix: string
}

export interface QueuesNames {
  readonly stream: string
  readonly tasks: QueueNames
  readonly callbacks: QueueNames
}

/** `name` is `log.name` of the configuration. Throws when it cannot be a stream's name. */
export const buildQueuesNames = (name: string): QueuesNames => {
  const { stream } = buildLogNames(name)
  const prefix = stream.toLowerCase()
  const queueOf = (consumer: string, noun: string): QueueNames => ({
    consumer,
    itemPrefix: `${prefix}.${noun}.`,
    piecePrefix: `${prefix}.${noun}-part.`,
  })
  return { stream: `${stream}_TASKS`, tasks: queueOf('tasks', 'task'), callbacks: queueOf('callbacks', 'callback') }
}

const idPattern = /^[A-Za-z0-9_-]{1,64}$/

/** An id is one token of a subject. */
export const assertId = (id: string): void => {
  if (!idPattern.test(id)) throw new Error(`${JSON.stringify(id)} cannot be the id of an item: ${idPattern}`)
}
