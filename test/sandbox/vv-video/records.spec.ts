import t from 'tap'
import { sandboxLimits } from '../../../sandbox/answers/limits.ts'
import { Pace, VideoRecords, type VideoTask } from '../../../sandbox/vv-video/records.ts'

const directives = { course: {}, faults: [] }

const task = (id: string, externalId: string | null): VideoTask => ({
  id,
  kind: 'text2video',
  externalId,
  model: 'v3',
  madeMs: 0,
  watermark: false,
  seconds: 5,
  units: '3',
  startsMs: 0,
  endsMs: 0,
  course: {},
  queries: 0,
})

t.test('the oldest go first', async (t) => {
  const records = new VideoRecords()
  for (let index = 0; index <= sandboxLimits.sandboxVideosMax; index += 1) {
    const externalId = index === 1 ? null : `task-${index}`
    records.add(records.ofSubmit(externalId, directives), task(String(index), externalId))
  }
  t.equal(records.all().length, sandboxLimits.sandboxVideosMax)
  t.equal(records.task('task-0'), undefined)
  t.equal(records.task('0'), undefined)
  t.match([records.task('1'), records.task('task-2'), records.task('2')], [{ id: '1' }, { id: '2' }, { id: '2' }])
  t.equal(records.counts.made, sandboxLimits.sandboxVideosMax + 1)
})

t.test('calls within one second', async (t) => {
  const pace = new Pace()
  for (const nowMs of [0, 0, 500, 999, 1_000, 1_499, 1_500]) pace.note(nowMs)
  t.equal(pace.most, 4)
  for (let nowMs = 10_000; nowMs < 400_000; nowMs += 1) pace.note(nowMs)
  t.equal(pace.most, 1_000)
  pace.reset()
  t.equal(pace.most, 0)
})
