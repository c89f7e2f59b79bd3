import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { requireTables } from '../../../src/cli/platform.ts'
import { rebuildReadModels } from '../../../src/cli/replay.ts'
import type { Fact, FactOf } from '../../../src/events/envelope.ts'
import {
  holdReleased,
  invoiceReconciled,
  lateVerdict,
  taskFailed,
  taskPlaced,
  taskProgressed,
  taskSettled,
  taskSubmitted,
} from '../../roles/projector/facts.ts'
import { checkCharges } from '../../support/bills.ts'
import { Clients, chat, chatBody, until } from '../../support/clients.ts'
import { type Operator, startTestGateway } from '../../support/gateway.ts'

const films = 'films'
const deadline = '2100-01-01T00:00:00.000Z'

const placed = (taskId: string): FactOf<'HoldPlaced'> => {
  const { type, data } = taskPlaced(taskId, { externalTaskId: `shot of ${taskId}` }, films)
  return { type, data: { ...data, deadline } }
}

const within = { workspaceId: films }

/** How far tasks come, one after the other; the last two have two ends each. */
const courses: readonly ((taskId: string) => readonly Fact[])[] = [
  () => [],
  (taskId) => [taskSubmitted(taskId, 'vendor-1', films), taskProgressed(taskId, 40, 'IN_PROGRESS', films)],
  (taskId) => [taskSubmitted(taskId, 'vendor-2', films), taskSettled(taskId, within)],
  (taskId) => [taskFailed(taskId, { ...within, vendorCode: 1301 })],
  (taskId) => [
    taskSettled(taskId, { ...within, total: '0.98', lines: [line('7', '0.98')] }),
    taskFailed(taskId, within),
  ],
  (taskId) => [lateVerdict(taskId, within), taskSettled(taskId, within)],
]

const line = (quantity: string, amount: string) => ({ item: 'video', quantity, unitPrice: '0.14', amount })

/** Proposed adjustments: one is approved and posted, one rejected, and one waits. */
const runProposals = async ({ log }: Operator, round: number): Promise<void> => {
  const [approved, rejected, open] = ['a', 'b', 'c'].map((name) => {
    const adjustmentId = `operator:ticket-${round}${name}`
    return { ...within, adjustmentId, amount: '0.5', reason: 'goodwill', note: '', by: 'admin:ana' } as const
  })
  const proposed = [approved!, rejected!, open!].map((data): Fact => {
    const reference = data.adjustmentId.slice('operator:'.length)
    return { type: 'AdjustmentProposed', actor: 'admin:ana', data: { ...data, reference, expiresAt: deadline } }
  })
  const decided = ({ adjustmentId }: { readonly adjustmentId: string }) => ({
    ...within,
    adjustmentId,
    by: 'admin:bob',
  })
  await log.postToWallet(films, proposed)
  await log.postToWallet(films, [
    { type: 'AdjustmentApproved', actor: 'admin:bob', data: decided(approved!) },
    { type: 'AdjustmentPosted', actor: 'admin:bob', data: approved! },
    { type: 'AdjustmentRejected', actor: 'admin:bob', data: decided(rejected!) },
  ])
  await log.append([invoiceReconciled({ differences: round })])
}

/** A task of every course; the vendor's word on the last one is late. */
const runTasks = async ({ log }: Operator, round: number): Promise<void> => {
  const taskIds = courses.map((_, course) => `task-${round}-${course}`)
  await log.postToWallet(films, taskIds.map(placed))
  await log.postToWallet(films, [holdReleased(taskIds.at(-1)!, films, 'expired')])
  await log.append(courses.flatMap((course, index) => course(taskIds[index]!)))
}

t.test('the tables are rebuilt from the log under load, compared row by row, and swapped', async (t) => {
  const models = { broken: 'broken;break_after=4', down: 'down;status=503' }
  const running = await startTestGateway(t, { models })
  const { gateway, operator, account } = running
  const kinds = ['openai/plain', 'openai/plain', 'openai/broken', 'openai/down']
  let turn = 0
  const ask = async () => {
    turn += 1
    const seen = await chat(gateway.url, account.secret, chatBody(kinds[turn % kinds.length]!, turn % 3 === 0))
    await pause(60) // The rebuild runs in the same process.
    return seen
  }
  const clients = new Clients(8, ask)
  t.teardown(async () => {
    await clients.stop() // Also after a failure: they would ask for ever.
  })
  await operator.openAccount(films, '100')
  for (let round = 0; round < 5; round += 1) {
    await runTasks(operator, round)
    await runProposals(operator, round)
  }
  await until(() => clients.journal.length > 120)

  const parts = { log: operator.log, place: requireTables(operator.platform).place }
  const first = await rebuildReadModels({ ...parts, swap: false })
  t.same(
    first.comparisons.filter(({ differences }) => differences > 0),
    [],
  )
  const requests = first.comparisons.find(({ table }) => table === 'requests')
  t.ok((requests?.rows ?? 0) > 60, `${requests?.rows} requests were compared`)
  const rows = Object.fromEntries(first.comparisons.map((compared) => [compared.table, compared.rows]))
  t.match(rows, { tasks: 30, external_tasks: 30, late_verdicts: 15 })
  t.ok(rows['admin_changes']! >= 35, 'proposals, what became of them, and reconciled invoices are among the changes')

  const swapped = await rebuildReadModels({ ...parts, swap: true })
  t.match(swapped, { equal: true, swapped: true })
  const before = clients.journal.length
  await runTasks(operator, 5)
  await until(() => clients.journal.length > before + 40)
  await clients.stop()
  await operator.caughtUp()
  await until(
    async () => (await requireTables(operator.platform).database.checkpoint()) === (await operator.log.lastSequence()),
  )
  const last = await rebuildReadModels({ ...parts, swap: false })
  t.ok(last.equal, 'the projector went on in the swapped tables')
  t.ok(last.sequence > swapped.sequence)
  await checkCharges(t, running)
})
