import { asObject } from '../encoding/json.ts'
import type { Event } from '../events/envelope.ts'

/** Of alerts, figures may be of all workspaces together, and ids have thresholds; what is proposed is not posted. */
const operatorTypes: ReadonlySet<string> = new Set<Event['type']>([
  'AdjustmentApproved',
  'AdjustmentProposed',
  'AdjustmentRejected',
  'AlertRuleSet',
  'AlertRuleRemoved',
  'AlertRaised',
  'AlertDelivered',
  'AlertDeliveryFailed',
])

/** Of no workspace, and without figures of several. */
const publicTypes: ReadonlySet<string> = new Set<Event['type']>([
  'CheckpointCosigned',
  'CheckpointSealed',
  'LogFormatRaised',
  'PricePublished',
])

export const isOfOperator = (type: string): boolean => operatorTypes.has(type)

/** Whether a key of the workspace may see the event as it is stored, with who administers. */
export const isWholeForWorkspace = (
  { type, actor, data }: { readonly type: string; readonly actor?: string | undefined; readonly data: unknown },
  workspaceId: string,
): boolean => {
  const { workspaceId: of, by } = asObject(data)
  if (actor !== undefined || by !== undefined || isOfOperator(type)) return false
  return of === undefined ? publicTypes.has(type) : of === workspaceId
}
