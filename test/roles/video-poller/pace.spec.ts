import t from 'tap'
import { pollerLimits } from '../../../src/roles/video-poller/limits.ts'

import { latePollDelayMs, pollDelayMs, progressOf, retryDelayMs } from '../../../src/roles/video-poller/pace.ts'

const middle = (): number => 0.5

t.test('polls begin at the vendor’s pace and grow apart slowly, to a bound', async (t) => {
  for (const [ageMs, delayMs] of [
    [-1_000, 5_000],
    [0, 5_000],
    [50_000, 5_000],
    [80_000, 8_000],
    [300_000, 30_000],
    [86_400_000, 30_000],
  ] as const)
    t.equal(pollDelayMs(ageMs, pollerLimits, middle), delayMs, `after ${ageMs} ms`)
  t.equal(
    pollDelayMs(0, pollerLimits, () => 0),
    4_500,
  )
  t.equal(
    pollDelayMs(0, pollerLimits, () => 1),
    5_500,
  )
})

t.test('a late verdict is asked for seldom', async (t) => {
  t.equal(latePollDelayMs(0, pollerLimits, middle), 60_000)
  t.equal(latePollDelayMs(86_000_000, pollerLimits, middle), 1_800_000)
})

t.test('back-off doubles to a bound, and a vendor’s own delay counts within one', async (t) => {
  const bounds = { taskRetryMs: 100, taskRetryMaxMs: 1_000, taskRetryAfterMaxMs: 5_000 }
  const delays = [1, 2, 3, 4, 5, 500].map((troubles) => retryDelayMs(troubles, null, bounds, () => 1))
  t.same(delays, [100, 200, 400, 800, 1_000, 1_000])
  t.equal(
    retryDelayMs(2, null, bounds, () => 0),
    100,
    'half of it is chance',
  )
  t.equal(
    retryDelayMs(1, 3_000, bounds, () => 0),
    3_000,
  )
  t.equal(
    retryDelayMs(1, 900_000, bounds, () => 0),
    5_000,
  )
})

const task = { taskId: 'task_1', workspaceId: 'acme', status: 'SUBMITTED', progress: 10, startedMs: null } as const
const running = { ...task, status: 'IN_PROGRESS', progress: 30, startedMs: 0 } as const

const shown = (...args: Parameters<typeof progressOf>): number | null => progressOf(...args)?.data.progress ?? null

t.test('progress goes forward, a few times a task', async (t) => {
  t.equal(shown(task, 'SUBMITTED', 0), null)
  t.equal(shown(task, null, 0), null)
  t.equal(shown(task, 'IN_PROGRESS', 90_000), 30, 'it has only begun')
  t.equal(shown(running, 'SUBMITTED', 90_000), null)
  t.equal(shown(running, null, 90_000), null)
  t.equal(shown(running, 'IN_PROGRESS', 14_999), null)
  t.equal(shown(running, 'IN_PROGRESS', 15_000), 50)
  t.equal(shown({ ...running, progress: 50 }, 'IN_PROGRESS', 20_000), null)
  t.equal(shown({ ...running, progress: 50 }, 'IN_PROGRESS', 60_000), 70)
  t.equal(shown({ ...running, progress: 70 }, 'IN_PROGRESS', 86_400_000), 90)
  t.equal(shown({ ...running, progress: 90 }, 'IN_PROGRESS', 86_400_000), null)
  t.equal(shown({ ...running, progress: 50 }, 'IN_PROGRESS', -5_000), null, 'a clock that is behind')
})
