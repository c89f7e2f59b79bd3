import type { Task } from '../../domain/video/task.ts'

/** Of a list, newest first. */
export interface EdgeTaskPage {
  /** From 1. */
  readonly page: number
  readonly pageSize: number
}

/** What an edge knows of the tasks of a workspace, whether they have ended or not. Each rejects while that cannot be told. */
export interface EdgeTasks {
  /** Null for an id that is unknown, or another workspace's. */
  find(workspaceId: string, taskId: string): Promise<Task | null>
  /** By the caller's own id. */
  findByExternalId(workspaceId: string, externalTaskId: string): Promise<Task | null>
  list(workspaceId: string, kind: Task['kind'], page: EdgeTaskPage): Promise<readonly Task[]>
}
