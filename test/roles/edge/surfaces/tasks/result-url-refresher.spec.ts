import t, { type Test } from 'tap'
import { openTask, type Task } from '../../../../../src/domain/video/task.ts'
import type { TaskResult } from '../../../../../src/events/types.ts'
import type { AnswerPart, RoutedRequest } from '../../../../../src/roles/dispatch.ts'
import type { InferenceQuestion } from '../../../../../src/roles/edge/surfaces/inference/inference.ts'
import { surfaceLimits } from '../../../../../src/roles/edge/surfaces/limits.ts'
import { ResultUrlRefresher } from '../../../../../src/roles/edge/surfaces/tasks/result-url-refresher.ts'
import { encodeResults } from '../../../../../src/roles/task-results.ts'
import { placed } from '../../../../domain/video/tasks.ts'
import { silentLogger } from '../../../../support/log-lines.ts'
import { errorOf, jsonHead, type Serve } from '../../edge-fixture.ts'
import { bodyOf, otherSecret, settledFact, startVideoEdge, submitted } from '../../video-fixture.ts'

const signed = (endMs: number, name = 'a'): string =>
  `https://cdn.example/${name}.mp4?expires=${Math.floor(endMs / 1_000)}`
const stale = signed(Date.now() - 60_000)
const fresh = signed(Date.now() + 3_600_000, 'b')
const resultOf = (url: string): TaskResult => ({ id: 'v', url, duration: '5.1' })

/** What a proxy says of the vendor. */
const telling = (results: readonly TaskResult[]): Serve =>
  async function* (call): AsyncGenerator<AnswerPart> {
    yield jsonHead(call)
    yield { type: 'bytes', bytes: encodeResults(results) }
  }

const settledEdge = async (t: Test, serve: Serve, urls: readonly string[] = [stale]) => {
  const edge = await startVideoEdge(t, { serve })
  const taskId = await submitted(edge)
  await edge.tell(settledFact(edge.openTask(taskId), { results: urls.map(resultOf) }))
  return { edge, taskId }
}

t.test('an expired result is told with a fresh URL, on every surface, and asked for once', async (t) => {
  const { edge, taskId } = await settledEdge(t, telling([resultOf(fresh)]))
  const before = edge.log.events.length
  const generic = await bodyOf(await edge.get(`/v1/video/generations/${taskId}`))
  t.match(generic, { data: { result_url: fresh, data: { data: { task_result: { videos: [{ url: fresh }] } } } } })
  t.notMatch(JSON.stringify(generic), stale)
  const native = await bodyOf(await edge.get(`/vv/v1/videos/text2video/${taskId}`))
  t.match(native, { data: { task_result: { videos: [{ id: `${taskId}-1`, url: fresh }] } } })
  t.match(await bodyOf(await edge.get(`/v1/videos/${taskId}`)), { metadata: { url: fresh } })
  const content = await edge.get(`/v1/videos/${taskId}/content`)
  t.match([content.status, content.headers.get('location')], [302, fresh])
  t.equal(edge.calls.length, 1)
  const expected: Partial<RoutedRequest> = {
    workspaceId: 'acme',
    surface: 'video',
    question: { type: 'get_video_task', kind: 'text2video', vendorTaskId: 'vendor-77' },
  }
  t.match(edge.calls[0], { ...expected, candidates: [{ provider: 'vv' }] })
  t.equal(edge.log.events.length, before, 'nothing enters the log')
  t.equal((await edge.get(`/v1/video/generations/${taskId}`, otherSecret)).status, 404)
})

t.test('nothing is asked of a result that is good still, or that nobody can tell of', async (t) => {
  for (const urls of [[fresh], ['https://cdn.example/a.mp4']]) {
    const { edge, taskId } = await settledEdge(t, telling([resultOf(fresh)]), urls)
    t.equal((await edge.get(`/v1/video/generations/${taskId}`)).status, 200)
    t.equal(edge.calls.length, 0, urls.join())
  }
})

t.test('a success that was told without a result is asked for it', async (t) => {
  const { edge, taskId } = await settledEdge(t, telling([resultOf(fresh)]), [])
  t.match(await bodyOf(await edge.get(`/v1/video/generations/${taskId}`)), { data: { result_url: fresh } })
  t.match(await bodyOf(await edge.get(`/v1/videos/${taskId}`)), { metadata: { url: fresh } })
  const content = await edge.get(`/v1/videos/${taskId}/content`)
  t.match([content.status, content.headers.get('location')], [302, fresh])
  t.equal(edge.calls.length, 1, 'once')
})

t.test('a success without a result, of which the vendor tells none either, is left alone for a while', async (t) => {
  const { edge, taskId } = await settledEdge(t, telling([]), [])
  for (const path of ['/v1/video/generations', '/v1/videos', '/vv/v1/videos/text2video'])
    t.equal((await edge.get(`${path}/${taskId}`)).status, 200)
  t.equal(edge.calls.length, 1)
})

t.test('a failure has no result to ask for', async (t) => {
  const edge = await startVideoEdge(t, { serve: telling([resultOf(fresh)]) })
  const taskId = await submitted(edge)
  await edge.tell(settledFact(edge.openTask(taskId), { outcome: 'FAILURE', results: [] }))
  t.equal((await edge.get(`/v1/video/generations/${taskId}`)).status, 200)
  t.equal(edge.calls.length, 0)
})

t.test('whatever the trouble, the stored URL is told, and the vendor left alone for a while', async (t) => {
  const rows: readonly (readonly [string, Serve])[] = [
    [
      'refused',
      // biome-ignore lint/correctness/useYield: it fails before it answers.
      async function* () {
        throw new Error('no')
      },
    ],
    ['nothing', telling([])],
    [
      'nonsense',
      async function* (call): AsyncGenerator<AnswerPart> {
        yield jsonHead(call)
        yield { type: 'bytes', bytes: Buffer.from('{"results":[{"url":7}]}') }
      },
    ],
  ]
  for (const [what, serve] of rows) {
    const { edge, taskId } = await settledEdge(t, serve)
    for (const path of ['/v1/video/generations', '/v1/videos', '/vv/v1/videos/text2video']) {
      const response = await edge.get(`${path}/${taskId}`)
      t.equal(response.status, 200, what)
      t.match(JSON.stringify(await bodyOf(response)), stale)
    }
    t.equal(edge.calls.length, 1, what)
  }
})

/** Fresh results behind a vendor and a clock of the test's own. */
const bench = (answer: () => Promise<readonly TaskResult[]>) => {
  let nowMs = Date.parse('2026-06-01T00:00:00Z')
  const asked: InferenceQuestion[] = []
  const ask = async (question: InferenceQuestion) => {
    asked.push(question)
    const results = await answer()
    const bytes = async function* () {
      yield encodeResults(results)
    }
    return {
      head: { type: 'head', contentType: 'application/json', level: 0, model: 'vv' },
      outputCap: null,
      bytes: bytes(),
    } as const
  }
  const freshResults = new ResultUrlRefresher({ inference: { query: ask }, clock: () => nowMs, logger: silentLogger })
  const key = {
    keyId: 'key-1',
    workspaceId: 'acme',
    name: '',
    sha256: '',
    prefix: '',
    revoked: false,
    expiresAtMs: null,
    replaces: null,
  }
  const poll = async (taskId = 'one', results = [resultOf(signed(nowMs - 1_000))]): Promise<string | undefined> => {
    const task: Task = { ...openTask(placed(taskId, '1'))!, status: 'SUCCESS', vendorTaskId: 'v-1', results }
    return (await freshResults.refreshResults(task, { requestId: 'r', key })).results[0]?.url
  }
  const pass = (ms: number): void => {
    nowMs += ms
  }
  return { asked, poll, now: () => nowMs, pass }
}

t.test('a fresh URL is told until it expires itself, and then the next', async (t) => {
  const { asked, poll, now, pass } = bench(async () => [resultOf(signed(now() + 60_000))])
  const first = await poll()
  pass(59_000)
  t.equal(await poll(), first)
  t.equal(asked.length, 1)
  pass(1_000)
  t.not(await poll(), first)
  t.equal(asked.length, 2)
})

t.test('a vendor that tells none, or one that has expired, is asked again after a while', async (t) => {
  const { asked, poll, now, pass } = bench(async () => [resultOf(signed(now() - 5_000))])
  for (let round = 1; round <= 3; round += 1) {
    await poll()
    await poll()
    t.equal(asked.length, round)
    pass(surfaceLimits.resultRefreshRetryMs)
  }
})

t.test(
  'a vendor that has no result yet is asked again after a while, and one that it then tells is kept',
  async (t) => {
    const told: TaskResult[] = []
    const { asked, poll, pass } = bench(async () => told)
    for (let round = 1; round <= 2; round += 1) {
      for (let polls = 0; polls < 3; polls += 1) t.equal(await poll('one', []), undefined)
      t.equal(asked.length, round)
      pass(surfaceLimits.resultRefreshRetryMs)
    }
    told.push(resultOf('https://cdn.example/a.mp4'))
    for (let polls = 0; polls < 3; polls += 1) t.equal(await poll('one', []), 'https://cdn.example/a.mp4')
    t.equal(asked.length, 3)
  },
)

t.test('many who poll one task wait for one answer', async (t) => {
  const told = Promise.withResolvers<readonly TaskResult[]>()
  const { asked, poll } = bench(() => told.promise)
  const polls = Promise.all(Array.from({ length: 20 }, () => poll()))
  told.resolve([resultOf(fresh)])
  t.same(new Set(await polls), new Set([fresh]))
  t.equal(asked.length, 1)
})

t.test('what is remembered is bounded', async (t) => {
  const { asked, poll, now } = bench(async () => [resultOf(signed(now() + 60_000))])
  for (let task = 0; task <= surfaceLimits.refreshedResultsMax; task += 1) await poll(`task-${task}`)
  const { length } = asked
  await poll(`task-${surfaceLimits.refreshedResultsMax}`)
  t.equal(asked.length, length)
  await poll('task-0')
  t.equal(asked.length, length + 1, 'the oldest was forgotten')
})

t.test('a poll waits for a silent vendor no longer than it should', async (t) => {
  const silent: Serve = async function* (call, _bill, clientGone): AsyncGenerator<AnswerPart> {
    await new Promise((resolve) => clientGone.addEventListener('abort', resolve))
    yield jsonHead(call)
  }
  const { edge, taskId } = await settledEdge(t, silent)
  const startMs = Date.now()
  const response = await edge.get(`/v1/videos/${taskId}/content`)
  t.match([response.status, response.headers.get('location')], [302, stale])
  t.ok(Date.now() - startMs < 5 * surfaceLimits.resultRefreshMs)
  t.match(await errorOf(await edge.get('/v1/videos/task_none/content')), { code: 'task_not_exist' })
})
