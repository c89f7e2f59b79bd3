import type { Projected } from '../../roles/projector/projecting.ts'

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
