import type { Projected } from '../../roles/projector/projecting.ts'

/** The tables of video tasks, as migration 0010 makes them; where it has made them, nothing. */
const tables = `
create table if not exists tasks (
  task_id text collate "C" primary key, workspace_id text collate "C" not null, key_id text collate "C" not null,
  surface text not null, kind text collate "C" not null, model text not null, provider text not null,
  upstream_model text not null, price_version text not null, unit_price text not null, units_max text not null,
  held numeric(38, 12) not null, external_task_id text, request_digest text not null, payload_digest text not null,
  vendor_task_id text, status text not null, progress int2 not null, queued_at timestamptz not null,
  deadline timestamptz not null, submitted_at timestamptz, started_at timestamptz, finished_at timestamptz,
  updated_at timestamptz not null, fail_reason text, vendor_code numeric, deduction text, source text,
  lines json not null, total numeric(38, 12) not null, results json not null
);
create table if not exists late_verdicts (
  sequence int8 not null, event_index int4 not null, event_type text not null, workspace_id text collate "C" not null,
  task_id text collate "C" not null, vendor_task_id text, outcome text not null, deduction text,
  cost numeric(38, 12) not null, fail_reason text, time timestamptz not null, primary key (sequence, event_index)
);`

export const makeTaskTables = (projected: Pick<Projected, 'query'>): Promise<void> => projected.query(tables)

export interface TestTask {
  readonly taskId: string
  readonly workspaceId: string
  readonly model: string
  readonly provider: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'IN_PROGRESS'
  readonly source: 'reported' | 'estimated' | null
  readonly unitPrice: string
  readonly units: string
  readonly total: string
  readonly queuedAt: string
  readonly finishedAt: string | null
}

const quoted = (text: string | null): string => (text === null ? 'null' : `'${text.replaceAll("'", "''")}'`)

const rowOf = (task: TestTask): string => {
  const { taskId, workspaceId, model, provider, status, source, unitPrice, units, total, queuedAt, finishedAt } = task
  const lines = status === 'SUCCESS' ? [{ item: 'video', quantity: units, unitPrice, amount: total }] : []
  const values = [
    ...[
      taskId,
      workspaceId,
      'key-1',
      'video',
      'text2video',
      model,
      provider,
      'vendor-v3',
      'v1',
      unitPrice,
      '45',
      '6.3',
    ],
    ...[null, '', '', `vendor-${taskId}`, status, '100', queuedAt, queuedAt, queuedAt, queuedAt, finishedAt, queuedAt],
    ...[null, null, units, source, JSON.stringify(lines), total, '[]'],
  ]
  return `(${values.map(quoted).join(', ')})`
}

export const insertTasks = (projected: Pick<Projected, 'query'>, tasks: readonly TestTask[]): Promise<void> =>
  projected.query(`insert into tasks values ${tasks.map(rowOf).join(', ')}`)
