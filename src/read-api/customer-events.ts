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

interface ShownEvent {
  readonly type: string
  readonly actor?: string | undefined
  readonly data?: unknown
}

/** Whether a key may not see the event at all or, where it would see it as it is stored, a key of the workspace. */
export const isHiddenFromKeys = ({ type, actor, data }: ShownEvent, wholeFor?: string): boolean => {
  if (operatorTypes.has(type)) return true
  if (wholeFor === undefined) return false
  const { workspaceId, by } = asObject(data)
  if (actor !== undefined || by !== undefined) return true
  return workspaceId === undefined ? !publicTypes.has(type) : workspaceId !== wholeFor
}
