import { endUserHolder, tagHolder } from '../domain/wallet/holders.ts'
import { GatewayError } from '../errors/gateway-error.ts'
import { endUserParameter, tagParameter, userParameter } from '../http/parameters.ts'
import { EndUserIds } from '../log/end-users.ts'
import type { LimitsHolder } from '../read-api/workspace-limits.ts'
import { requireWorkspace } from './admin-context.ts'
import type { OperationContext, OperationInput, PathIds } from './operation.ts'

export const holderParameters = { tag: tagParameter, user: userParameter, end_user: endUserParameter }

type HolderQuery = OperationInput<undefined, typeof holderParameters>['query']

const endUsersOf = ({ endUserKeys: store, clock, randomText }: OperationContext): EndUserIds =>
  new EndUserIds({ store, clock, randomText })

const requireOne = ({ key }: Pick<PathIds, 'key'>, query: HolderQuery): void => {
  const named = Object.entries({ key: key || undefined, ...query }).filter(([, value]) => value !== undefined)
  const names = named.map(([name]) => `\`${name}\``)
  if (names.length > 1)
    throw new GatewayError('invalid_value', `Limits are of one of them: ${names.join(', ')}.`, {
      param: named[1]![0],
    })
}

/**
 * Whose limits a request is about: null for those of the workspace. The name of an end user becomes its id. Throws
 * `not_found`, and `invalid_value` for more than one; rejects with `log_unavailable`.
 */
export const readLimitsHolder = async (
  context: OperationContext,
  { id: workspaceId, key }: PathIds,
  query: HolderQuery,
): Promise<LimitsHolder> => {
  requireWorkspace(context, workspaceId)
  requireOne({ key }, query)
  const { tag, user, end_user: endUser } = query
  if (tag !== undefined) return tagHolder(`${tag.name}=${tag.value}`)
  if (endUser !== undefined) return endUserHolder(endUser)
  if (user !== undefined) return endUserHolder(await endUsersOf(context).resolveId(workspaceId, user))
  return key === '' ? null : key
}

export const findTagWarnings = (
  { tagNames }: Pick<OperationContext, 'tagNames'>,
  { tag }: HolderQuery,
): readonly string[] =>
  tag === undefined || tagNames.includes(tag.name)
    ? []
    : [`\`${tag.name}\` is not among the \`tags\` of the configuration here: no request can have this tag.`]
