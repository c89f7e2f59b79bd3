import t from 'tap'
import type { Task } from '../../src/domain/video/task.ts'
import {
  genericAccepted,
  genericTask,
  nativeAccepted,
  nativeTask,
  openaiAccepted,
  openaiVideo,
} from '../../src/roles/task-views.ts'

const taskId = `task_${'a'.repeat(32)}`
const queuedMs = Date.parse('2026-10-05T12:00:00.750Z')
const queuedSeconds = Math.floor(queuedMs / 1_000)

const taskWith = (own: Partial<Task> = {}): Task => ({
  taskId,
  workspaceId: 'acme',
  keyId: 'key-1',
  surface: 'video',
  kind: 'text2video',
  model: 'vv/v3',
  provider: 'vv',
  upstreamModel: 'vendor-v3',
  priceVersion: 'v1',
  unitPrice: '0.14',
  unitsMax: '4.5',
  requestDigest: '0'.repeat(64),
  payloadDigest: '1'.repeat(64),
  externalTaskId: null,
  held: '0.63',
  queuedMs,
  deadlineMs: queuedMs + 86_400_000,
  vendorTaskId: null,
  status: 'QUEUED',
  progress: 0,
  submittedMs: null,
  startedMs: null,
  finishedMs: null,
  updatedMs: queuedMs,
  failReason: null,
  vendorCode: null,
  deduction: null,
  source: null,
  lines: [],
  total: '0',
  results: [],
  ...own,
})

const submitted: Partial<Task> = { vendorTaskId: 'vendor-77', status: 'SUBMITTED', progress: 10, submittedMs: queuedMs }
const running: Partial<Task> = { ...submitted, status: 'IN_PROGRESS', progress: 10, startedMs: queuedMs + 3_000 }
const succeeded: Partial<Task> = {
  ...running,
  status: 'SUCCESS',
  progress: 100,
  finishedMs: queuedMs + 40_000,
  updatedMs: queuedMs + 40_000,
  deduction: '3',
  source: 'reported',
  lines: [{ item: 'video', quantity: '3', unitPrice: '0.14', amount: '0.42' }],
  total: '0.42',
  results: [
    {
      id: 'vendor-video-1',
      url: 'https://cdn.example/1.mp4?sig=x',
      watermarkUrl: 'https://cdn.example/w',
      duration: '5.1',
    },
    { id: 'vendor-video-2', url: 'https://cdn.example/2.mp4?sig=x' },
  ],
}
const failed: Partial<Task> = {
  ...running,
  status: 'FAILURE',
  progress: 100,
  finishedMs: queuedMs + 40_000,
  failReason: 'The picture is too dark.',
  source: 'reported',
}
const refused: Partial<Task> = { ...failed, vendorTaskId: null, vendorCode: 1301, failReason: 'Policy.' }
const expired: Partial<Task> = { status: 'FAILURE', progress: 100, finishedMs: queuedMs, failReason: 'Too late.' }

t.test('the words and percentages of each state', async (t) => {
  const rows: readonly [string, Partial<Task>, readonly [string, string, string, string, number]][] = [
    ['queued', {}, ['SUBMITTED', '10%', 'submitted', 'queued', 0]],
    ['submitted', submitted, ['SUBMITTED', '10%', 'submitted', 'queued', 10]],
    ['running', running, ['IN_PROGRESS', '30%', 'processing', 'in_progress', 30]],
    ['half done', { ...running, progress: 55.5 }, ['IN_PROGRESS', '55%', 'processing', 'in_progress', 55]],
    ['nearly done', { ...running, progress: 100 }, ['IN_PROGRESS', '99%', 'processing', 'in_progress', 99]],
    ['succeeded', succeeded, ['SUCCESS', '100%', 'succeed', 'completed', 100]],
    ['failed', failed, ['FAILURE', '100%', 'failed', 'failed', 100]],
  ]
  for (const [what, own, [status, progress, native, openai, percent]] of rows) {
    const task = taskWith(own)
    t.match(genericTask(task), { status, progress }, `${what}: generic`)
    t.equal(nativeTask(task)['task_status'], native, `${what}: native`)
    t.match(openaiVideo(task), { status: openai, progress: percent }, `${what}: OpenAI-style`)
  }
})

t.test('a queued task as the generic poll tells it', async (t) => {
  t.strictSame(genericTask(taskWith()), {
    task_id: taskId,
    status: 'SUBMITTED',
    progress: '10%',
    action: 'textGenerate',
    fail_reason: '',
    submit_time: queuedSeconds,
    start_time: 0,
    finish_time: 0,
    created_at: queuedSeconds,
    updated_at: queuedSeconds,
    model: 'vv/v3',
    properties: { input: '', origin_model_name: 'vv/v3', upstream_model_name: 'vendor-v3' },
    data: null,
  })
})

t.test('a success, with the bill and the vendor’s own figure', async (t) => {
  const task = taskWith({ ...succeeded, kind: 'omni-video', externalTaskId: 'mine-1' })
  const native = {
    task_id: taskId,
    task_status: 'succeed',
    task_status_msg: '',
    task_info: { external_task_id: 'mine-1' },
    created_at: queuedMs,
    updated_at: queuedMs + 40_000,
    task_result: {
      videos: [
        {
          id: `${taskId}-1`,
          url: 'https://cdn.example/1.mp4?sig=x',
          watermark_url: 'https://cdn.example/w',
          duration: '5.1',
        },
        { id: `${taskId}-2`, url: 'https://cdn.example/2.mp4?sig=x' },
      ],
    },
    watermark_info: { enabled: true },
    final_unit_deduction: '3',
  }
  t.strictSame(nativeTask(task), native)
  t.match(genericTask(task), {
    action: 'omniVideo',
    result_url: 'https://cdn.example/1.mp4?sig=x',
    start_time: queuedSeconds + 3,
    finish_time: queuedSeconds + 40,
    data: { code: 0, message: 'SUCCEED', data: native },
    usage: { units: '3', unit_price: '0.14', cost: '0.42', currency: 'USD', source: 'reported' },
  })
  t.match(openaiVideo(task), {
    completed_at: queuedSeconds + 40,
    seconds: '5.1',
    error: null,
    metadata: { url: 'https://cdn.example/1.mp4?sig=x' },
  })
})

t.test('a success of which the vendor told no figure shows none of its own', async (t) => {
  const task = taskWith({ ...succeeded, deduction: null, source: 'estimated' })
  t.notHas(nativeTask(task), { final_unit_deduction: String })
  t.match(genericTask(task), { usage: { source: 'estimated' } })
})

t.test('failures say why, cost nothing and have no result', async (t) => {
  const told = genericTask(taskWith({ ...failed, results: succeeded.results ?? [], kind: 'image2video' }))
  t.match(told, {
    action: 'generate',
    fail_reason: 'The picture is too dark.',
    data: { data: { task_status: 'failed' } },
  })
  t.notOk('result_url' in told || 'usage' in told)
  t.match(nativeTask(taskWith(failed)), { task_status_msg: 'The picture is too dark.' })
  t.notOk('task_result' in nativeTask(taskWith(failed)))
  t.match(openaiVideo(taskWith(failed)), { error: { code: 'task_failed', message: 'The picture is too dark.' } })
  t.strictSame(genericTask(taskWith(refused))['data'], { code: 1301, message: 'Policy.', data: null })
  t.equal(genericTask(taskWith(expired))['data'], null, 'the vendor never said anything')
})

t.test('the vendor’s ids are in no view', async (t) => {
  for (const own of [{}, submitted, running, succeeded, failed, refused]) {
    const task = taskWith(own)
    t.notMatch(JSON.stringify([genericTask(task), nativeTask(task), openaiVideo(task)]), /vendor-(77|video)/)
  }
})

t.test('the answers to a submit', async (t) => {
  const accepted = { taskId, model: 'vv/v3', externalTaskId: 'mine-1', queuedMs }
  t.strictSame(genericAccepted(accepted), {
    id: taskId,
    task_id: taskId,
    object: 'video',
    model: 'vv/v3',
    status: 'queued',
    progress: '0%',
    created_at: queuedSeconds,
  })
  t.strictSame(nativeAccepted(accepted), {
    task_id: taskId,
    task_status: 'submitted',
    task_info: { external_task_id: 'mine-1' },
    created_at: queuedMs,
    updated_at: queuedMs,
  })
  t.match(openaiAccepted(accepted), { id: taskId, object: 'video', status: 'queued', progress: 0, completed_at: null })
})
