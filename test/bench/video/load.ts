/** The clients that submit, a process of its own: each request is the next workspace's. */
import { inquire, type LoadResult } from '../asking.ts'
import { answerQuestions } from '../child.ts'
import { videoModel } from './price.ts'

export interface SubmitLoad {
  /** What stands before `/v1`. */
  readonly url: string
  /** Of the workspaces that pay. */
  readonly keys: readonly string[]
  readonly connections: number
  readonly seconds: number
  /** No more than so many; null for no bound but the time. */
  readonly submitsMax: number | null
}

const body = JSON.stringify({
  model: videoModel,
  prompt:
    'A lighthouse keeper climbs the last stairs at dawn; the lamp goes out, gulls rise, and the sea turns from grey to gold.',
  metadata: { mode: 'std', duration: '5', aspect_ratio: '16:9' },
})

const requestOf = (url: string, key: string): Buffer =>
  Buffer.from(
    [
      'POST /v1/video/generations HTTP/1.1',
      `Host: ${new URL(url).host}`,
      `Authorization: Bearer ${key}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  )

const run = ({ url, keys, connections, seconds, submitsMax }: SubmitLoad): Promise<LoadResult> => {
  const requests = keys.map((key) => requestOf(url, key))
  let asked = 0
  const nextRequest = (): Buffer | null => {
    if (submitsMax !== null && asked >= submitsMax) return null
    asked += 1
    return requests[asked % requests.length]!
  }
  return inquire({ url, connections, seconds, nextRequest, marksExpected: null })
}

answerQuestions(run)
