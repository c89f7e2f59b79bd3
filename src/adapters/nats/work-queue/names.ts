import { buildLogNames } from '../log-stream.ts'

/** One queue: whom its items are handed to, and under which subjects it keeps them. */
export interface QueueNames {
  readonly consumer: string
  /** Before an item's id. */
  readonly itemPrefix: string
  /** Before an item's id and the number of the piece. */
  readonly piecePrefix: string
}

/** The stream of a log's work queues. */
export interface QueuesNames {
  readonly stream: string
  readonly tasks: QueueNames
  readonly callbacks: QueueNames
}

/** Names from `log.name` of the configuration. Throws when it cannot be a stream's name. */
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

/** An id stands in subjects as one token. */
export const assertId = (id: string): void => {
  if (!idPattern.test(id)) throw new Error(`${JSON.stringify(id)} cannot be the id of an item: ${idPattern}`)
}
