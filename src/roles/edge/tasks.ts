import type { Task } from '../../domain/video/task.ts'

export interface EdgeTaskPage {
  /** From 1. */
  readonly page: number
  readonly pageSize: number
}

/** The tasks of a workspace, whether they have ended or not. Each rejects while they cannot be looked up. */
export interface EdgeTasks {
  /** Null for an id that is unknown, or another workspace's. */
  find(workspaceId: string, taskId: string): Promise<Task | null>
  findByExternalId(workspaceId: string, externalTaskId: string): Promise<Task | null>
  list(workspaceId: string, kind: Task['kind'], page: EdgeTaskPage): Promise<readonly Task[]>
}
