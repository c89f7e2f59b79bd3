import t from 'tap'
import {
  type Applied,
  applyFrame,
  findOrCreateWallet,
  initialLedger,
  type Ledger,
} from '../../../src/domain/ledger/ledger.ts'
import { formatUsd } from '../../../src/domain/money.ts'
import { balancePicos } from '../../../src/domain/wallet/wallet.ts'
import type { Fact, FactOf } from '../../../src/events/envelope.ts'
import { holdOf, sealAt } from '../video/tasks.ts'

const credited: Fact = {
  type: 'WalletCredited',
  data: { workspaceId: 'acme', amount: '10', reference: 'invoice-1', note: '' },
}
const held = holdOf('task_1', '6.3')
const released: Fact = { type: 'HoldReleased', data: { holdId: 'task_1', workspaceId: 'acme', reason: 'expired' } }
const submitted: Fact = {
  type: 'TaskSubmitted',
  data: { taskId: 'task_1', workspaceId: 'acme', vendorTaskId: 'v-1' },
}
const progressed = (status: 'SUBMITTED' | 'IN_PROGRESS', progress: number): Fact => ({
  type: 'TaskProgressed',
  data: { taskId: 'task_1', workspaceId: 'acme', status, progress },
})
const settled = (total: string, taskId = 'task_1'): FactOf<'TaskSettled'> => ({
  type: 'TaskSettled',
  data: {
    taskId,
    workspaceId: 'acme',
    outcome: 'SUCCESS',
    vendorTaskId: 'v-1',
    deduction: '1',
    source: 'reported',
    priceVersion: 'v1',
    lines: [{ item: 'video', quantity: '1', unitPrice: total, amount: total }],
    total,
    held: '6.3',
    results: [],
  },
})
const late: Fact = {
  type: 'LateVerdictSeen',
  data: { taskId: 'task_1', workspaceId: 'acme', vendorTaskId: 'v-1', outcome: 'SUCCESS', cost: '1' },
}

const walletTypes = ['WalletCredited', 'HoldPlaced', 'HoldReleased']

/** Each fact in a frame of its own; a poller's are on its journal. */
const applyAll = (ledger: Ledger, facts: readonly Fact[]): readonly Applied[] =>
  facts.flatMap((fact) => {
    const sequence = ledger.sequence + 1
    const walletSubject = walletTypes.includes(fact.type) ? 'acme' : null
    return applyFrame(ledger, { sequence, walletSubject, writer: 'w', counter: sequence, events: [sealAt(fact)] })
  })

const after = (...facts: readonly Fact[]) => {
  const ledger = initialLedger()
  const applied = applyAll(ledger, [credited, held, ...facts]).slice(2)
  const wallet = findOrCreateWallet(ledger, 'acme')
  return {
    ledger,
    applied,
    moved: applied.map(({ movements }) => movements.map(({ kind }) => kind)),
    figures: [formatUsd(balancePicos(wallet)), formatUsd(wallet.heldPicos), ledger.tasks.size] as const,
  }
}

t.test('a hold for a task opens it', async (t) => {
  const { ledger, figures } = after()
  t.same(figures, ['10', '6.3', 1])
  t.match(ledger.tasks.get('task_1'), { status: 'QUEUED', held: '6.3' })
})

t.test('a settlement charges and ends, once', async (t) => {
  const { applied, moved, figures } = after(settled('1'))
  t.same(moved, [['charge', 'release']])
  t.match(applied[0]?.task, { status: 'SUCCESS', total: '1', finishedMs: Number })
  t.same(figures, ['9', '0', 0])
})

t.test('a second settlement moves nothing and is told from the first', async (t) => {
  const { applied, moved, figures } = after(settled('1'), settled('2'))
  t.same(moved, [['charge', 'release'], []])
  t.equal(applied[1]?.task, null)
  t.same(figures, ['9', '0', 0])
})

t.test('released, then settled: nothing is charged', async (t) => {
  const { applied, moved, figures } = after(released, settled('1'), late)
  t.same(moved, [['release'], [], []])
  t.match(applied[0]?.task, { status: 'FAILURE', total: '0' })
  t.same([applied[1]?.task, applied[2]?.task], [null, null])
  t.same(figures, ['10', '0', 0])
})

t.test('settled, then released: nothing goes back twice', async (t) => {
  const { applied, moved, figures } = after(settled('1'), released)
  t.same(moved, [['charge', 'release'], []])
  t.equal(applied[1]?.task, null)
  t.same(figures, ['9', '0', 0])
})

t.test('what costs more than was held is a movement of its own', async (t) => {
  const { moved, figures } = after(settled('8'))
  t.same(moved, [['charge', 'excess', 'release']])
  t.same(figures, ['2', '0', 0])
})

t.test('an unknown task moves nothing', async (t) => {
  const { applied, moved, figures } = after(settled('1', 'task_9'))
  t.same(moved, [[]])
  t.equal(applied[0]?.task, null)
  t.same(figures, ['10', '6.3', 1])
})

t.test('a settlement that stands before its hold is not honoured', async (t) => {
  const ledger = initialLedger()
  applyAll(ledger, [credited, settled('1'), held])
  t.equal(formatUsd(balancePicos(findOrCreateWallet(ledger, 'acme'))), '10')
  t.equal(ledger.tasks.size, 1)
})

t.test('progress moves an open task forward, and nothing after its end', async (t) => {
  const { applied, ledger } = after(submitted, progressed('IN_PROGRESS', 50), progressed('SUBMITTED', 99))
  t.same(
    applied.map(({ movements }) => movements.length),
    [0, 0, 0],
  )
  t.match(ledger.tasks.get('task_1'), { status: 'IN_PROGRESS', progress: 50, vendorTaskId: 'v-1' })
  const ended = after(settled('1'), progressed('IN_PROGRESS', 50), submitted)
  t.same([ended.applied[1]?.task, ended.applied[2]?.task], [null, null])
  t.same(ended.figures, ['9', '0', 0])
})

t.test('a journal frame stored twice settles once', async (t) => {
  const ledger = initialLedger()
  applyAll(ledger, [credited, held])
  const frame = { walletSubject: null, writer: 'poller', counter: 1, events: [sealAt(settled('1'))] }
  t.equal(applyFrame(ledger, { ...frame, sequence: 3 }).length, 1)
  t.equal(applyFrame(ledger, { ...frame, sequence: 4 }).length, 0)
  t.equal(formatUsd(balancePicos(findOrCreateWallet(ledger, 'acme'))), '9')
})

t.test('a hold for an allowance is no task', async (t) => {
  const ledger = initialLedger()
  const { task: _, ...data } = held.data
  const [, placed] = applyAll(ledger, [credited, { type: 'HoldPlaced', data: { ...data, purpose: 'allowance' } }])
  t.equal(placed?.task, null)
  t.equal(ledger.tasks.size, 0)
})
