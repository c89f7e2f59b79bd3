import type { RoutePlan } from '../../../../domain/routing/plan.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import { referencedResponseOf } from '../../../../providers/openai-responses/references.ts'
import type { StoredResponseOwner, StoredResponses } from '../../../stored-responses.ts'
import type { ResponsesRequest } from './request.types.ts'

export type ResponseOwners = Pick<StoredResponses, 'find'>

const shownIdMax = 256
/** Ids of all providers match it; the id becomes part of a path. */
const idPattern = /^[\w-]{1,256}$/

/** Undefined where another workspace owns the response. */
export const requireOwner = async (
  owners: ResponseOwners,
  workspaceId: string,
  responseId: string,
): Promise<StoredResponseOwner | undefined> => {
  const owner = idPattern.test(responseId) ? await owners.find(responseId) : undefined
  return owner?.workspaceId === workspaceId ? owner : undefined
}

const noPrevious = (responseId: string): GatewayError =>
  new GatewayError('invalid_value', `Previous response with id '${responseId.slice(0, shownIdMax)}' not found.`, {
    param: 'previous_response_id',
  })

/**
 * The provider that stores the response that a request continues; null where it names none. Throws `invalid_value` for
 * a response that is not the workspace's own, `unsupported_parameter` for anything else stored at a provider.
 */
export const providerOfResponse = async (
  owners: ResponseOwners,
  workspaceId: string,
  request: ResponsesRequest,
): Promise<string | null> => {
  const responseId = referencedResponseOf(request)
  if (responseId === null) return null
  const owner = await requireOwner(owners, workspaceId, responseId)
  if (owner === undefined) throw noPrevious(responseId)
  return owner.provider
}

/** Throws `invalid_value` where no candidate of the provider is left. */
export const candidateOfResponse = (plan: RoutePlan, provider: string): RoutePlan => {
  const candidates = plan.candidates.filter((candidate) => candidate.provider === provider)
  if (candidates.length === 0)
    throw new GatewayError(
      'invalid_value',
      `The previous response is stored by \`${provider}\`: name one of its models.`,
      {
        param: 'model',
      },
    )
  return { ...plan, candidates }
}
