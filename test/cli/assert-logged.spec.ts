import t from 'tap'
import { createLoggedCheck } from '../../src/cli/assert-logged.ts'
import { parseUsd } from '../../src/domain/money.ts'
import { LedgerTail } from '../../src/log/ledger-tail.ts'
import { reconciliationId } from '../../src/reconcile/correction.ts'
import type { LedgerSubject } from '../../src/reconcile/repository.ts'
import { routed, taskPlaced, taskSettled, used } from '../roles/projector/facts.ts'
import { ledgerOf, openProjected, project } from '../roles/projector/projecting.ts'
import { silentLogger } from '../support/log-lines.ts'
import { MemoryLog } from '../support/memory-log.ts'
import { startPostgres } from '../support/postgres.ts'

const postgres = await startPostgres(t)

const request: LedgerSubject = {
  ...{ id: 'request-1', workspaceId: 'acme', state: 'charged', model: 'openai/gpt-4o-mini', estimated: false },
  lines: [
    { item: 'input', quantity: 100n, amountPicos: parseUsd('0.00025') },
    { item: 'output', quantity: 30n, amountPicos: parseUsd('0.0003') },
  ],
  ...{ totalPicos: parseUsd('0.00055'), unitPricePicos: null },
  adjustments: [
    {
      ...{
        sequence: 6,
        adjustmentId: reconciliationId('request-1', 0),
        corrects: 'request-1',
        reason: 'reconciliation',
      },
      amountPicos: parseUsd('-0.0001'),
    },
  ],
  ...{ inPeriod: true, atEdge: false, day: null },
}

t.test('a correction is posted only of a charge that the log has too', async (t) => {
  const log = new MemoryLog()
  await log.append([routed('request-1'), routed('request-2'), used('request-2', { total: '0.5' })])
  await log.append([used('request-1')])
  await log.append([used('request-1', { total: '9' })])
  await log.postToWallet('acme', [taskPlaced('task-1')])
  await log.append([taskSettled('task-1')])
  await log.postToWallet('acme', [
    {
      type: 'AdjustmentPosted',
      data: {
        ...{ adjustmentId: reconciliationId('request-1', 0), workspaceId: 'acme', amount: '-0.0001' },
        ...{ reason: 'reconciliation', corrects: 'request-1', note: 'a test' },
      },
    },
  ])
  const projected = await openProjected(t, postgres)
  await project(log, projected.store, 500)
  const tail = new LedgerTail(ledgerOf(log), log)
  t.teardown(() => tail.stop())
  const parts = { log, frames: log, tail, logger: silentLogger, database: projected.database }
  const check = async (ledger: LedgerSubject, provider = 'openai'): Promise<void> => {
    const { id: corrects, workspaceId } = ledger
    const correction = {
      corrects,
      workspaceId,
      correctionsBefore: 1,
      debitPicos: 1n,
      differences: 1,
      unsignedPicos: 1n,
      note: '',
      ledger,
    }
    await createLoggedCheck(parts, provider)(correction)
  }
  await check(request)
  const charge = { code: 'read_models_unavailable', message: /the log has another charge for request-1/ }
  for (const changed of [
    { totalPicos: parseUsd('1000000') },
    { workspaceId: 'other' },
    { model: 'openai/other' },
    { estimated: true },
    { lines: request.lines.slice(1) },
    { lines: request.lines.map((line) => ({ ...line, amountPicos: 1n })) },
    { lines: request.lines.map((line) => ({ ...line, quantity: 1n })) },
  ])
    await t.rejects(check({ ...request, ...changed }), charge)
  await t.rejects(check(request, 'xai'), charge)
  const [adjustment] = request.adjustments as [LedgerSubject['adjustments'][number]]
  for (const adjustments of [
    [],
    [adjustment, { ...adjustment, adjustmentId: 'undelivered:request-1' }],
    [{ ...adjustment, amountPicos: parseUsd('-1000') }],
    [{ ...adjustment, reason: 'goodwill' as const }],
  ])
    await t.rejects(check({ ...request, adjustments }), { message: /other corrections of request-1/ })
  const elsewhere = [{ ...adjustment, sequence: 1 }]
  await t.rejects(check({ ...request, adjustments: elsewhere }), { message: /do not hold the adjustment/ })

  const lines = [{ item: 'video', quantity: 4_500_000_000_000n, amountPicos: parseUsd('0.63') }]
  const [taskRow] = await projected.rows('tasks', '1')
  const task: LedgerSubject = {
    ...{ ...request, id: 'task-1', model: String(taskRow?.['model']), lines, totalPicos: parseUsd('0.63') },
    ...{ unitPricePicos: parseUsd(String(taskRow?.['unit_price'])), adjustments: [] },
  }
  await check(task, 'vv')
  await t.rejects(check({ ...task, totalPicos: 1n }, 'vv'), { message: /the log has another charge for task-1/ })
  await t.rejects(check({ ...task, workspaceId: 'other' }, 'vv'), { code: 'read_models_unavailable' })

  await projected.query(`update requests set first_sequence = 1, sequence = 3 where request_id = 'request-1'`)
  await t.rejects(check({ ...request, totalPicos: parseUsd('9') }), { message: /did not count/ }, 'a second bill')
})
