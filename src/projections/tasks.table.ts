import type { Task, TaskStatus } from '../domain/video/task.ts'
import type { TaskOrder } from '../events/types.ts'
import type { Decimal, FreeText, Instant, Int8, Json } from './columns.ts'

export interface TaskTable {
  readonly task_id: string
  readonly workspace_id: string
  readonly key_id: string
  readonly surface: TaskOrder['surface']
  readonly kind: TaskOrder['kind']
  readonly model: FreeText
  readonly provider: FreeText
  readonly upstream_model: FreeText
  readonly price_version: string
  readonly unit_price: string
  readonly units_max: string
  readonly held: Decimal
  readonly external_task_id: FreeText | null
  readonly request_digest: string
  readonly payload_digest: string
  readonly vendor_task_id: FreeText | null
  readonly status: TaskStatus
  readonly progress: number
  readonly queued_at: Instant
  readonly deadline: Instant
  readonly submitted_at: Instant | null
  readonly started_at: Instant | null
  readonly finished_at: Instant | null
  readonly updated_at: Instant
  readonly fail_reason: FreeText | null
  readonly vendor_code: Decimal | null
  readonly deduction: FreeText | null
  readonly source: Task['source']
  readonly lines: Json<Task['lines']>
  readonly total: Decimal
  readonly results: Json<Task['results']>
}

export interface TaskChargeTable {
  readonly workspace_id: string
  readonly sequence: Int8
  readonly event_index: number
  readonly task_id: string
  readonly key_id: string
  readonly surface: TaskOrder['surface']
  readonly model: FreeText
}

export interface ExternalTaskTable {
  readonly workspace_id: string
  readonly external_task_id: FreeText
  readonly task_id: string
  readonly request_digest: string
}

export interface LateVerdictTable {
  readonly sequence: Int8
  readonly event_index: number
  readonly event_type: 'TaskSettled' | 'LateVerdictSeen'
  readonly workspace_id: string
  readonly task_id: string
  readonly vendor_task_id: FreeText | null
  readonly outcome: 'SUCCESS' | 'FAILURE'
  readonly deduction: FreeText | null
  readonly cost: Decimal
  readonly fail_reason: FreeText | null
  readonly time: Instant
}
