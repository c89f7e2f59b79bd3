/**
 * The load generator, a process of its own. autocannon's histogram counts whole milliseconds, and an HTTP client costs as much as the
 * servers that share its cores.
 */
import { marksIn } from './answers.ts'
import { inquire, type LoadResult } from './asking.ts'
import { answerQuestions } from './child.ts'
import { type Asking, requestOf } from './requests.ts'

export interface Load extends Asking {
  readonly connections: number
  readonly seconds: number
  /** Of all connections together; without end where it is not named. */
  readonly requests?: number
  /** Each request has an idempotency key of its own. */
  readonly keyed?: boolean
}

const placeholder = '0'.repeat(24)
let keys = Date.now() * 1_000

/** The next request every time; a whole copy, since the one before may not be sent yet. */
const endlessOf = (load: Load): (() => Buffer) => {
  if (load.keyed !== true) {
    const request = requestOf(load)
    return () => request
  }
  const template = requestOf({ ...load, headers: [`Idempotency-Key: ${placeholder}`] })
  const at = template.indexOf(placeholder)
  return () => {
    keys += 1
    const request = Buffer.from(template)
    request.write(String(keys).padStart(placeholder.length, '0'), at, 'latin1')
    return request
  }
}

const requestsOf = (load: Load): (() => Buffer | null) => {
  const next = endlessOf(load)
  let left = load.requests ?? Number.POSITIVE_INFINITY
  return () => {
    left -= 1
    return left < 0 ? null : next()
  }
}

const run = (load: Load): Promise<LoadResult> => {
  const { url, connections, seconds, format, stream, shape } = load
  const marksExpected = shape?.chunks ?? marksIn(format, stream)
  return inquire({ url, connections, seconds, nextRequest: requestsOf(load), marksExpected })
}

answerQuestions(run)
