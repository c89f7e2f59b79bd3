import type { Attempt, RequestRouted } from '../../events/types.ts'
import type { Task } from '../video/task.ts'
import { type ClosedRequest, servedUpstreamId } from './requests.ts'

type Tags = NonNullable<RequestRouted['tags']>

/** By what a charge, or a correction of it, can be allocated. All empty where nothing was served. */
export interface Allocation {
  /** The one that served. */
  readonly model: string
  readonly keyId: string
  readonly surface: string
  readonly tags: Tags
  readonly endUser: string
  readonly priceVersion: string
  /** The provider's own id of the request; empty where it sent none. */
  readonly upstreamRequestId: string
}

const none: Tags = {}

export const unallocated: Allocation = {
  model: '',
  keyId: '',
  surface: '',
  tags: none,
  endUser: '',
  priceVersion: '',
  upstreamRequestId: '',
}

interface Served extends Pick<Allocation, 'model' | 'keyId' | 'surface' | 'priceVersion'> {
  readonly attempts?: readonly Attempt[]
}

export const allocationOf = (
  { model, keyId, surface, priceVersion, attempts = [] }: Served,
  { tags = none, endUser = '' }: Pick<RequestRouted, 'tags' | 'endUser'> = {},
): Allocation => ({
  ...{ model, keyId, surface, tags, endUser, priceVersion },
  upstreamRequestId: servedUpstreamId(attempts),
})

export const allocateRequest = ({ routed, closing }: ClosedRequest): Allocation =>
  closing.type === 'RequestFailed' ? unallocated : allocationOf(closing.data, routed.data)

export const allocateTask = (task: Task): Allocation => allocationOf(task)
