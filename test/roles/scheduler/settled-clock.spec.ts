import t from 'tap'
import { schedulerLimits } from '../../../src/roles/scheduler/limits.ts'
import { SettledClock } from '../../../src/roles/scheduler/settled-clock.ts'

const hourMs = 3_600_000

const clocks = () => {
  let steadyMs = 5
  let wallMs = Date.parse('2026-11-21T12:00:00Z')
  const settled = new SettledClock(
    () => wallMs,
    schedulerLimits.clockSettleMs,
    () => steadyMs,
  )
  return {
    settled,
    wall: () => wallMs,
    passes: (ms: number) => {
      steadyMs += ms
      wallMs += ms
    },
    isSet: (byMs: number) => {
      wallMs += byMs
    },
  }
}

t.test('a clock that is set forward is not believed until what was open has had its time', async (t) => {
  const { settled, wall, passes, isSet } = clocks()
  t.equal(settled.nowMs(), wall())
  isSet(hourMs)
  t.equal(settled.nowMs(), wall() - hourMs)
  passes(schedulerLimits.clockSettleMs - 1)
  t.equal(settled.nowMs(), wall() - hourMs)
  passes(1)
  t.equal(settled.nowMs(), wall())
})

t.test('one that is set back is believed at once, and so is one that comes back', async (t) => {
  const { settled, wall, passes, isSet } = clocks()
  isSet(hourMs)
  settled.nowMs()
  passes(1_000)
  isSet(-hourMs)
  t.equal(settled.nowMs(), wall())
  isSet(-hourMs)
  t.equal(settled.nowMs(), wall())
  passes(1_000)
  t.equal(settled.nowMs(), wall())
})

t.test('a clock that is slewed is followed', async (t) => {
  const { settled, wall, passes, isSet } = clocks()
  for (let second = 0; second < 10_000; second += 1) {
    passes(1_000)
    isSet(schedulerLimits.clockJumpMs / 10)
    settled.nowMs()
  }
  t.equal(settled.nowMs(), wall())
})
