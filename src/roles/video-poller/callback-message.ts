import type { Task } from '../../domain/video/task.ts'
import { isObject, parseJson } from '../../encoding/json.ts'
import { genericTask, nativeTask } from '../task-views.ts'

export interface CallbackMessage {
  readonly url: string
  readonly workspaceId: string
  /** JSON text: what is signed is what is sent. */
  readonly body: string
}

/** A task that has ended, as a poll on the surface of its submit returns it. */
export const callbackMessage = (task: Task, url: string): CallbackMessage => ({
  url,
  workspaceId: task.workspaceId,
  body: JSON.stringify(task.surface === 'native-video' ? nativeTask(task) : genericTask(task)),
})

export const encodeCallback = (message: CallbackMessage): Uint8Array => Buffer.from(JSON.stringify(message))

export const decodeCallback = (bytes: Uint8Array): CallbackMessage | null => {
  const message = parseJson(Buffer.from(bytes).toString())
  if (!isObject(message)) return null
  const { url, workspaceId, body } = message
  if (typeof url !== 'string' || typeof workspaceId !== 'string' || typeof body !== 'string') return null
  return { url, workspaceId, body }
}
