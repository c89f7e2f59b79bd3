import { type HttpContext, readableWorkspace } from '../http/context.ts'
import * as parameters from '../http/parameters.ts'
import { invalidParameter } from '../http/query.ts'
import type { EndUserIds } from '../log/end-users.ts'

export const labelParameters = {
  tag: parameters.tagParameter,
  end_user: parameters.endUserParameter,
  user: parameters.userParameter,
}

interface LabelQuery {
  readonly tag?: { readonly name: string; readonly value: string } | undefined
  readonly end_user?: string | undefined
  readonly user?: string | undefined
}

export interface LabelFilter {
  readonly tag?: { readonly name: string; readonly value: string } | undefined
  /** The id in the log. */
  readonly endUser?: string | undefined
}

/** No request has it. */
const unknownEndUser = ''

/** Finds the id of an end user by name. Throws `invalid_value` for two of them; rejects with `log_unavailable`. */
export const readLabelFilter = async (
  ctx: HttpContext,
  endUsers: Pick<EndUserIds, 'findId'>,
  { tag, end_user: endUser, user }: LabelQuery,
): Promise<LabelFilter> => {
  if (user === undefined) return { tag, endUser }
  if (endUser !== undefined) throw invalidParameter('user', 'absent where `end_user` is given')
  return { tag, endUser: (await endUsers.findId(readableWorkspace(ctx), user)) ?? unknownEndUser }
}
