import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import {
  CallGate,
  type CallGateParts,
  type CallKind,
  type CallPermit,
} from '../../../src/roles/video-poller/call-gate.ts'

const gateOf = (bounds: Partial<CallGateParts> = {}): CallGate =>
  new CallGate({
    callsPerSecond: 1_000_000,
    submitsMax: 100,
    pollsMax: 100,
    steadyMs: () => performance.now(),
    ...bounds,
  })

/** Asks for turns; the list grows as they are granted. */
const asking = (
  gate: CallGate,
  kinds: readonly CallKind[],
): { readonly turns: readonly CallPermit[]; readonly granted: string[] } => {
  const granted: string[] = []
  const turns = kinds.map((kind) => gate.acquire(kind, 'acme'))
  turns.forEach((turn, index) => {
    turn.granted.then((isGranted) => granted.push(`${isGranted ? '' : 'no '}${turn.kind} ${index}`))
  })
  return { turns, granted }
}

const settled = (): Promise<void> => delay(10)

t.test('no second has more calls than its cap', async (t) => {
  let nowMs = 0
  const gate = gateOf({ callsPerSecond: 100, steadyMs: () => nowMs })
  const grantedMs: number[] = []
  const ask = async (): Promise<void> => {
    const turn = gate.acquire('poll', 'acme')
    await turn.granted
    grantedMs.push(nowMs)
    turn.leave()
  }
  for (let n = 0; n < 60; n += 1) void ask()
  for (; grantedMs.length < 60; nowMs += 5) await delay(1)
  const most = Math.max(...grantedMs.map((from) => grantedMs.filter((at) => at >= from && at < from + 100).length))
  t.ok(most <= 16, `${most} calls in a tenth of a second, of which a late timer may have made up for five`)
  t.ok(grantedMs.at(-1)! >= 530, `60 calls at 100 a second took ${grantedMs.at(-1)} ms`)
})

t.test('submits go first, and polls have their turn', async (t) => {
  const gate = gateOf({ submitsMax: 1, pollsMax: 1 })
  const first = asking(gate, ['submit', 'poll'])
  const rest = asking(gate, ['poll', 'poll', 'submit', 'submit'])
  await settled()
  t.same([first.granted, rest.granted], [['submit 0', 'poll 1'], []])
  first.turns[0]!.leave()
  first.turns[1]!.leave()
  await settled()
  t.same(rest.granted, ['submit 2', 'poll 0'])
})

t.test('of many that wait, one in four is a poll', async (t) => {
  const gate = gateOf({ callsPerSecond: 200 })
  const { turns } = asking(gate, Array<CallKind>(20).fill('poll'))
  await Promise.all(turns.map(({ granted }) => granted))
  const order = asking(gate, [...Array<CallKind>(9).fill('submit'), ...Array<CallKind>(3).fill('poll')])
  await Promise.all(order.turns.map(({ granted }) => granted))
  t.same(order.granted.map((each) => (each.startsWith('submit') ? 's' : 'p')).join(''), 'sssp'.repeat(3))
})

t.test('a turn that is cancelled is passed over', async (t) => {
  const gate = gateOf({ pollsMax: 1 })
  const { turns, granted } = asking(gate, ['poll', 'poll', 'poll'])
  turns[1]!.cancel()
  turns[0]!.leave()
  await settled()
  t.same(new Set(granted), new Set(['poll 0', 'no poll 1', 'poll 2']))
  turns[2]!.cancel()
  turns[2]!.leave()
  const after = asking(gate, ['poll'])
  await settled()
  t.same(after.granted, ['poll 0'], 'a cancel after the grant changes nothing')
})

t.test('workspaces that wait take turns, however many calls one of them waits for', async (t) => {
  for (const kind of ['submit', 'poll'] as const) {
    const gate = gateOf({ submitsMax: 1, pollsMax: 1 })
    const order: string[] = []
    const call = async (workspaceId: string): Promise<void> => {
      const turn = gate.acquire(kind, workspaceId)
      await turn.granted
      order.push(workspaceId)
      turn.leave()
    }
    const blocking = gate.acquire(kind, 'hog')
    const waiting = [...Array<string>(500).fill('hog'), 'first', 'second', 'first'].map(call)
    blocking.leave()
    await Promise.all(waiting)
    t.same(order.slice(0, 6), ['hog', 'first', 'second', 'hog', 'first', 'hog'])
  }
})

t.test('thousands that wait keep their order', async (t) => {
  const gate = gateOf({ pollsMax: 1 })
  const granted: number[] = []
  await Promise.all(
    Array.from({ length: 5_000 }, async (_, index) => {
      const turn = gate.acquire('poll', 'acme')
      await turn.granted
      granted.push(index)
      turn.leave()
    }),
  )
  t.same(
    granted,
    [...granted].sort((a, b) => a - b),
  )
})

t.test('a vendor without room gets no submits for a while, then one at a time until it takes one', async (t) => {
  const gate = gateOf()
  gate.holdSubmits(300)
  const { turns, granted } = asking(gate, ['submit', 'submit', 'submit', 'poll'])
  await turns[3]!.granted
  t.same(granted, ['poll 3'], 'polls go on')
  t.ok(gate.holdsSubmits)
  await turns[0]!.granted
  await settled()
  t.same(granted, ['poll 3', 'submit 0'])
  gate.freeSubmits()
  await turns[2]!.granted
  t.same(granted, ['poll 3', 'submit 0', 'submit 1', 'submit 2'])
  gate.holdSubmits(60_000)
  gate.stop()
})
