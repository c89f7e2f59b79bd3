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
}

const run = (load: Load): Promise<LoadResult> => {
  const { url, connections, seconds, format, stream } = load
  const request = requestOf(load)
  return inquire({ url, connections, seconds, nextRequest: () => request, marksExpected: marksIn(format, stream) })
}

answerQuestions(run)
