import type { VideoKind, VideoRequest } from '../../../../domain/video/request.ts'
import { isObject, type JsonObject } from '../../../../encoding/json.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import {
  callerOfContext,
  type HttpContext,
  type HttpContextWithId,
  type HttpMiddleware,
  jsonOfContext,
  keyOfContext,
} from '../../../../http/context.ts'
import type { TaskPage } from '../../../../projections/tasks/queries.ts'
import { genericStatus, nativeAccepted, nativeTask } from '../../../task-views.ts'
import { type SubmitParts, submitTask } from '../tasks/submit-task.ts'
import { isEmpty, type PathOf, readVideo } from '../tasks/video-request.ts'
import type { VideoTasks } from '../tasks/video-tasks.ts'

interface ReadNative {
  readonly request: VideoRequest
  readonly pathOf: PathOf
}

/** Clients of the generic surface name the model `model`. */
const readNativeRequest = (value: unknown, kind: VideoKind): ReadNative => {
  if (!isObject(value)) throw new GatewayError('invalid_value', 'Invalid request body: must be object.')
  const { model_name, model } = value
  const modelPath = isEmpty(model_name) && !isEmpty(model) ? 'model' : 'model_name'
  // The body is flat: paths are as the caller wrote them.
  const pathOf: PathOf = (path) => (path === 'model' || path === 'model_name' ? modelPath : path)
  return { request: { kind, ...readVideo({ ...value, model_name: value[modelPath] }, pathOf) }, pathOf }
}

const envelope = ({ state }: HttpContext, data: object): JsonObject => ({
  code: 0,
  message: 'SUCCEED',
  request_id: state.requestId,
  data,
})

/** Clients of the generic surface expect these beside the vendor's members. */
const besides = (taskId: string, status: string): JsonObject => ({ id: taskId, task_id: taskId, status })

export const submitNative =
  (kind: VideoKind, parts: SubmitParts): HttpMiddleware =>
  async (ctx) => {
    const read = { surface: 'native-video', ...readNativeRequest(jsonOfContext(ctx).value, kind) } as const
    await submitTask(ctx, parts, read, (accepted) => ({
      ...envelope(ctx, nativeAccepted(accepted)),
      ...besides(accepted.taskId, 'queued'),
    }))
  }

export const showNative =
  (tasks: VideoTasks) =>
  async (ctx: HttpContextWithId): Promise<void> => {
    const task = await tasks.findByAnyId(callerOfContext(ctx), ctx.params.id ?? '')
    ctx.body = { ...envelope(ctx, nativeTask(task)), ...besides(task.taskId, genericStatus(task)) }
  }

const pageNumberMax = 1_000
const pageSizeMax = 500
const pageSizeDefault = 30

export const nativeListParameters = {
  pageNum: {
    form: `a whole number from 1 to ${pageNumberMax}`,
    schema: { type: 'integer', minimum: 1, maximum: pageNumberMax, default: 1 },
  },
  pageSize: {
    form: `a whole number from 1 to ${pageSizeMax}`,
    schema: { type: 'integer', minimum: 1, maximum: pageSizeMax, default: pageSizeDefault },
  },
}

const wholeNumber = ({ query }: HttpContext, name: string, max: number, otherwise: number): number => {
  const { [name]: text = String(otherwise) } = query
  const value = typeof text === 'string' && /^[1-9][0-9]{0,3}$/.test(text) ? Number(text) : 0
  if (value < 1 || value > max)
    throw new GatewayError('invalid_value', `Invalid value for '${name}': must be a whole number from 1 to ${max}.`, {
      param: name,
    })
  return value
}

const pageOf = (ctx: HttpContext): TaskPage => ({
  page: wholeNumber(ctx, 'pageNum', pageNumberMax, 1),
  pageSize: wholeNumber(ctx, 'pageSize', pageSizeMax, pageSizeDefault),
})

export const listNative =
  (kind: VideoKind, tasks: VideoTasks): HttpMiddleware =>
  async (ctx) => {
    const listed = await tasks.list(keyOfContext(ctx).workspaceId, kind, pageOf(ctx))
    ctx.body = envelope(ctx, listed.map(nativeTask))
  }
