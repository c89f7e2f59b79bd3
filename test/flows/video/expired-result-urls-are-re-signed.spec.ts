import t, { type Test } from 'tap'
import type { Sandbox } from '../../../sandbox/server.ts'
import { surfaceLimits } from '../../../src/roles/edge/surfaces/limits.ts'
import { until } from '../../support/clients.ts'
import { Deployment } from '../../support/deployment.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { type Operator, startTestGateway } from '../../support/gateway.ts'
import { eventsOf, newVideo, pollVideo, videoOptions } from '../../support/video.ts'

interface Stage {
  readonly url: string
  readonly secret: string
  readonly operator: Operator
  readonly sandbox: Sandbox
}

const isGood = async (url: string): Promise<boolean> => (await fetch(url)).status === 200

/** Where a poll on the generic surface says that the result is. */
const resultUrl = async ({ url, secret }: Stage, taskId: string): Promise<string> =>
  (await pollVideo(url, secret, taskId)).body.data.result_url

/** A task with a result whose URL has expired; the next URL that the vendor signs is good for a minute. */
const expiredTask = async (stage: Stage): Promise<string> => {
  const { url, secret, sandbox } = stage
  const taskId = await newVideo(url, secret, { prompt: 'A cat. [[queue_ms=0;run_ms=0;url_ms=1]]' })
  await until(async () => (await pollVideo(url, secret, taskId)).body.data.status === 'SUCCESS')
  const [settled] = (await eventsOf(stage.operator, 'TaskSettled')).filter((each) => each.taskId === taskId)
  const stored = settled?.results[0]?.url ?? ''
  await until(async () => !(await isGood(stored)))
  sandbox.videos.end(settled?.vendorTaskId ?? '', '[[url_ms=60000]]')
  return taskId
}

const followFresh = async (t: Test, stage: Stage): Promise<string> => {
  const { url, secret, operator } = stage
  const taskId = await expiredTask(stage)
  const last = await operator.log.lastSequence()
  // Where the vendor answers later than a poll waits, the poll tells the URL as it was.
  await until(async () => isGood(await resultUrl(stage, taskId)))
  const fresh = await resultUrl(stage, taskId)
  t.ok(await isGood(fresh), 'the video is there')
  const { queries } = stage.sandbox.videos.totals()
  t.equal((await pollVideo(url, secret, taskId, 'native')).body.data.task_result.videos[0].url, fresh)
  t.equal((await pollVideo(url, secret, taskId, 'openai')).body.metadata.url, fresh)
  const authorization = `Bearer ${secret}`
  const content = await fetch(`${url}/v1/videos/${taskId}/content`, { headers: { authorization } })
  t.equal(content.url, fresh)
  t.equal(content.headers.get('content-type'), 'video/mp4')
  t.equal(stage.sandbox.videos.totals().queries, queries, 'the vendor was asked once')
  t.equal(await operator.log.lastSequence(), last, 'and nothing is in the log of it')
  return taskId
}

t.test('in one process', async (t) => {
  const { gateway, account, operator, sandbox } = await startTestGateway(t, videoOptions())
  await followFresh(t, { url: gateway.url, secret: account.secret, operator, sandbox })
})

t.test('with the edge apart, which holds no key; without a proxy a poll tells the URL as it was', async (t) => {
  const { direct } = await startExternalServers(t)
  const deployment = await Deployment.start(t, {
    external: direct,
    apart: (role) => role === 'proxy',
    ...videoOptions(),
  })
  const { operator, sandbox, urls } = deployment
  const { secret } = await operator.openAccount('acme', '100')
  const stage = { url: urls[0]!, secret, operator, sandbox }
  const taskId = await followFresh(t, stage)
  const fresh = await resultUrl(stage, taskId)
  const other = await expiredTask(stage)
  await deployment.end('proxy', 0, 'SIGKILL')
  t.equal(await resultUrl(stage, taskId), fresh, 'what is known stays known')
  const askedMs = Date.now()
  // A poll of a slow machine, behind the first expiry, may have been told a URL for the rest of a second.
  await until(async () => !(await isGood(await resultUrl(stage, other))))
  t.ok(Date.now() - askedMs < 5 * surfaceLimits.resultRefreshMs, 'within moments')
})
