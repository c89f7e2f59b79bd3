import t from 'tap'
import { GrowingTree } from '../../../src/audit/merkle.ts'
import { createSigner, deriveVerifier } from '../../../src/audit/note.ts'
import { signSeal } from '../../../src/audit/seal.ts'
import type { RawFrame } from '../../../src/log/raw-frames.ts'
import { schedulerLimits } from '../../../src/roles/scheduler/limits.ts'
import { SealState } from '../../../src/roles/scheduler/seal-state.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import { framesOf } from '../../support/sealing.ts'
import { opened } from '../projector/facts.ts'

const signer = createSigner('example.com/log', Buffer.alloc(32, 7))
const { sealEveryMs, sealStandbyMs } = schedulerLimits

const startState = (writer: string): SealState =>
  new SealState({ sealed: new GrowingTree(), verifiers: [deriveVerifier(signer)], writer, nowMs: 0 })

/** The frames of a log with one event and, in its second frame, a checkpoint over it. */
const sealedFrames = async (): Promise<{ readonly frames: readonly RawFrame[]; readonly writer: string }> => {
  const log = new MemoryLog()
  await log.append([opened()])
  const state = startState(log.writer)
  for (const frame of await framesOf(log)) state.take(frame, 0)
  await log.append([{ type: 'CheckpointSealed', data: signSeal(state.next(), signer) }])
  return { frames: await framesOf(log), writer: log.writer }
}

t.test('when a checkpoint is due', async (t) => {
  const { frames, writer } = await sealedFrames()
  const [first, checkpoint] = frames as [RawFrame, RawFrame]
  const next = { ...first, sequence: 3, id: 'other:1' }
  const standbyMs = sealEveryMs + sealStandbyMs
  const cases: readonly (readonly [string, readonly RawFrame[], string, number, boolean])[] = [
    ['an empty log', [], writer, standbyMs, false],
    ['a first frame', [first], writer, standbyMs, true],
    ['a first frame, too early for one that does not lead', [first], writer, standbyMs - 1, false],
    ['a clock that was set back', [first], writer, -standbyMs, true],
    ['a sealed frame', [first, checkpoint], writer, standbyMs, false],
    ['a frame after an own checkpoint', [first, checkpoint, next], writer, sealEveryMs, true],
    ['a frame after an own checkpoint, too early', [first, checkpoint, next], writer, sealEveryMs - 1, false],
    ["a frame after another sealer's checkpoint", [first, checkpoint, next], 'other', standbyMs - 1, false],
    ["a frame after another sealer's last checkpoint", [first, checkpoint, next], 'other', standbyMs, true],
  ]
  for (const [name, taken, of, nowMs, isDue] of cases) {
    const state = startState(of)
    for (const frame of taken) state.take(frame, 0)
    t.equal(state.isDue(nowMs), isDue, name)
  }
})

t.test('what was stored is sealed, also before its frame is read', async (t) => {
  const { frames, writer } = await sealedFrames()
  const state = startState(writer)
  state.take(frames[0]!, 0)
  t.match(state, { size: 1, sealedSize: 0, lastNews: 1 })
  state.markStored(signSeal(state.next(), signer), 0)
  t.match(state, { size: 1, sealedSize: 1 })
  state.take(frames[1]!, 0)
  t.match(state, { size: 2, sealedSize: 1, lastNews: 1 })
})
