import { hash } from 'node:crypto'
import type { Key } from '../../../../domain/accounts/accounts.ts'
import { modelPermissionOf } from '../../../../domain/accounts/limits.ts'
import { utcDayAt } from '../../../../domain/instant.ts'
import type { Catalog, Random } from '../../../../domain/routing/plan.ts'
import { comparableBody, withDefaults } from '../../../../domain/video/defaults.ts'
import { planVideo, type VideoPlan } from '../../../../domain/video/plan.ts'
import type { TaskPayload, VideoRequest } from '../../../../domain/video/request.ts'
import { checkVideoRequest } from '../../../../domain/video/rules.ts'
import { unitsPicosRoundingHalfUp } from '../../../../domain/video/settle.ts'
import { worstCaseUnits } from '../../../../domain/video/worst-case.ts'
import type { WalletCommand } from '../../../../domain/wallet/decide.ts'
import { digestCanonically } from '../../../../encoding/canonical-digest.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import type { TaskOrder } from '../../../../events/types.ts'
import type { RateLimiter } from '../../../../http/context.ts'
import type { LedgerTail } from '../../../../log/ledger-tail.ts'
import { isCallablePort } from '../../../../runtime/callback-ports.ts'
import type { Clock } from '../../../../runtime/clock.ts'
import { readImageDimensions } from './image-dimensions.ts'

export interface VideoSubmission {
  readonly key: Key
  readonly surface: TaskOrder['surface']
  readonly request: VideoRequest
  readonly pathOf: (path: string) => string
  readonly rates?: RateLimiter | undefined
}

export interface TaskDraftParts {
  readonly tail: Pick<LedgerTail, 'ledger'>
  readonly owner: string
  readonly catalog: () => Catalog
  readonly random: Random
  readonly callbacks: boolean
  /** How long a task may take before its hold is released. */
  readonly taskDeadlineMs: number
  readonly clock: Clock
}

export type PlaceTaskHold = Extract<WalletCommand, { type: 'PlaceTaskHold' }>

export interface TaskDraft {
  readonly workspaceId: string
  readonly command: PlaceTaskHold
  readonly payload: Uint8Array
  readonly externalIdPath: string
  /** Whether a repeat of the submit finds the task. */
  readonly isFound: boolean
  /** Whether it repeats a submit under its idempotency key: another repeat may use the payload, too. */
  readonly isShared: boolean
}

const callbackProtocols: ReadonlySet<string> = new Set(['http:', 'https:'])

const isCallable = (text: string): boolean => {
  const url = URL.parse(text)
  if (url === null || !callbackProtocols.has(url.protocol) || !isCallablePort(url)) return false
  return url.username === '' && url.password === ''
}

/** The host is checked when it is called. */
const checkCallback = (url: string | null, callbacks: boolean, pathOf: VideoSubmission['pathOf']): void => {
  if (url === null) return
  const param = pathOf('callback_url')
  if (!callbacks)
    throw new GatewayError('unsupported_parameter', `'${param}' is not available here: poll the task instead.`, {
      param,
    })
  if (!isCallable(url))
    throw new GatewayError(
      'invalid_value',
      `Invalid value for '${param}': must be an http or https URL without credentials, of port 80, 443, or 1024 and above.`,
      { param },
    )
}

const payloadOf = (
  taskId: string,
  workspaceId: string,
  { provider, upstreamModel }: VideoPlan,
  { kind, body, callbackUrl }: VideoRequest,
): Uint8Array => {
  const payload: TaskPayload = { taskId, workspaceId, kind, provider, upstreamModel, body, callbackUrl }
  return Buffer.from(JSON.stringify(payload))
}

/** By the model's name as requested: its alias may change while the request stays the same. */
export const digestOf = (request: VideoRequest): Promise<string> => {
  const { model, kind, callbackUrl } = request
  return digestCanonically({ model, kind, body: comparableBody(request), callbackUrl }, (step) => step())
}

interface Ordered extends Pick<VideoSubmission, 'surface' | 'request'> {
  readonly keyId: string
  readonly plan: VideoPlan
  readonly unitsMax: string
  readonly payload: Uint8Array
  readonly requestDigest: string
}

const orderOf = ({ keyId, surface, request, plan, unitsMax, payload, requestDigest }: Ordered): TaskOrder => ({
  keyId,
  surface,
  kind: request.kind,
  model: plan.model,
  provider: plan.provider,
  upstreamModel: plan.upstreamModel,
  priceVersion: plan.priceVersion,
  unitPrice: plan.sheet.unit_price,
  unitsMax,
  ...(request.externalTaskId === null ? {} : { externalTaskId: request.externalTaskId }),
  requestDigest,
  payloadDigest: hash('sha256', payload),
})

/** Throws what is wrong with the request, or not available to its key. */
export const draftTask = (
  { key, surface, request, pathOf }: VideoSubmission,
  {
    taskId,
    isFound,
    isShared,
    requestDigest,
  }: Pick<TaskDraft, 'isFound' | 'isShared'> & { readonly taskId: string; readonly requestDigest: string },
  { catalog, tail, clock, random, owner, callbacks, taskDeadlineMs }: TaskDraftParts,
): TaskDraft => {
  const { prices, accounts } = tail.ledger
  const plan = planVideo(catalog(), prices, request.model, clock(), random, modelPermissionOf(accounts, key))
  checkVideoRequest(request, plan.modelName, pathOf, readImageDimensions)
  checkCallback(request.callbackUrl, callbacks, pathOf)
  const whole = withDefaults(request, plan.modelName)
  const unitsMax = worstCaseUnits(plan.sheet, whole, plan.modelName, pathOf)
  const { workspaceId, keyId } = key
  const payload = payloadOf(taskId, workspaceId, plan, whole)
  const command: PlaceTaskHold = {
    type: 'PlaceTaskHold',
    taskId,
    amountPicos: unitsPicosRoundingHalfUp(unitsMax, plan.sheet.unit_price),
    day: utcDayAt(clock()),
    deadline: new Date(clock() + taskDeadlineMs).toISOString(),
    owner,
    order: orderOf({ keyId, surface, request: whole, plan, unitsMax, payload, requestDigest }),
  }
  return { workspaceId, command, payload, externalIdPath: pathOf('external_task_id'), isFound, isShared }
}
