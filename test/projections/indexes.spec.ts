import t from 'tap'
import { selectAdminChanges } from '../../src/projections/admin-changes/queries.ts'
import { atCheckpoint } from '../../src/projections/checkpoint/queries.ts'
import { selectFindings } from '../../src/projections/findings.ts'
import { selectRequests } from '../../src/projections/requests/listed-requests.ts'
import { openProjected } from '../roles/projector/projecting.ts'
import { until } from '../support/clients.ts'
import { startPostgres } from '../support/postgres.ts'

const rows = 20_000

const projected = await openProjected(t, await startPostgres(t))
const { db } = projected.database

/** The server counts a use a moment after it. */
const untilUsed = (index: string, read: () => Promise<unknown>): Promise<void> =>
  until(async () => {
    await read()
    const [scans] = await projected.values(
      `select idx_scan::text from pg_stat_user_indexes where indexrelname = '${index}'`,
    )
    return Number(scans) > 0
  })

/** Two calls each, and one whose text jsonb cannot hold. */
await projected.query(`
  insert into requests (request_id, sequence, event_index, workspace_id, key_id, surface, model, stream, status, served_model, level,
    attempts, reserved, total, routed_at, closed_at)
  select 'request-' || n, n, 1, 'workspace-' || n % 16, 'key-1', 'chat', 'openai/a', true, 'ok', 'openai/a', 0,
    case when n = 9 then '[{"reason":"a\\u0000b","upstreamRequestId":"served-9"}]'::json else json_build_array(
      json_build_object('outcome', 'failed', 'upstreamRequestId', 'failed-' || n),
      json_build_object('outcome', 'served', 'upstreamRequestId', 'served-' || n)) end,
    0, 0, at - interval '2 seconds', at
  from (select n, timestamptz '2026-03-01T00:00:00Z' + n * interval '1 second' as at from generate_series(1, ${rows}) n) as each`)
await projected.query(`
  insert into tasks (task_id, workspace_id, key_id, surface, kind, model, provider, upstream_model, price_version, unit_price, units_max,
    held, request_digest, payload_digest, status, progress, queued_at, deadline, finished_at, updated_at, deduction, source, lines, total, results)
  select 'task-' || n, 'workspace-' || n % 16, 'key-1', 'video', 'text2video', 'vv/v3', 'vv', 'v3', 'v1', '0.14', '3', 0, '', '', 'SUCCESS', 100,
    at, at, at, at, case when n % 2000 = 0 then null else '3' end, case when n % 1000 = 0 then 'estimated' else 'reported' end, '[]', 0, '[]'
  from (select n, timestamptz '2026-03-01T00:00:00Z' + n * interval '1 second' as at from generate_series(1, ${rows}) n) as each`)
await projected.query(`
  insert into admin_changes (sequence, event_index, type, workspace_id, subject, actor, detail, time)
  select n, 0, case when n <= 100 then 'KeyIssued' else 'CallbackFailed' end, 'workspace-' || n % 16, 'subject-' || n, null, '{}', now()
  from generate_series(1, ${rows}) n`)
await projected.query(`update checkpoint set sequence = ${rows}`)
await projected.query(`analyze`)

const requestsWith = (workspaceId: string | null, upstreamRequestId: string) =>
  atCheckpoint(db, (trx, sequence) =>
    selectRequests(trx, workspaceId, { from: null, to: null, upstreamRequestId, limit: 10 }, sequence),
  ).then(({ value }) => value)

t.test('a request is found by the id that a provider gave to any of its calls, however old it is', async (t) => {
  for (const id of ['failed-7', 'served-7'])
    for (const workspaceId of [null, 'workspace-7']) {
      const { requests, next, searchedTo } = await requestsWith(workspaceId, id)
      t.same(
        requests.map((each) => each.id),
        ['request-7'],
      )
      t.same([next, searchedTo], [null, null], 'nothing is left to look through')
    }
  for (const id of ['served', 'served-9']) t.same((await requestsWith(null, id)).requests, [])
  t.same((await requestsWith('workspace-1', 'served-7')).requests, [], 'another workspace has it not')
  await untilUsed('requests_by_upstream_request_id', () => requestsWith(null, 'served-8'))
})

t.test('what waits for an operator among many videos is found by an index', async () => {
  const read = () =>
    atCheckpoint(db, (trx) => selectFindings(trx, { workspaceId: null, overdueBefore: new Date(0), limit: 5 }))
  for (const index of ['tasks_missing_deduction', 'tasks_implausible_deduction']) await untilUsed(index, read)
})

t.test('changes are listed without the failed callbacks that are newer, and not read through them', async (t) => {
  const sequences = async (workspaceId?: string) =>
    (await selectAdminChanges(db, { workspaceId, limit: 2 })).map(({ sequence }) => sequence)
  t.same(await sequences(), [100, 99])
  t.same(await sequences('workspace-4'), [100, 84])
  await untilUsed('admin_changes_listed', () => sequences())
  await untilUsed('admin_changes_listed_of_a_workspace', () => sequences('workspace-4'))
})
