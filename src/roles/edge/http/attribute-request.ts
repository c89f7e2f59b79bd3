import type { IncomingHttpHeaders } from 'node:http'
import { asObject, type JsonObject } from '../../../encoding/json.ts'
import { GatewayError } from '../../../errors/gateway-error.ts'
import type { RequestRouted } from '../../../events/types.ts'
import { type HttpMiddleware, type HttpState, jsonOfContext, keyOfContext } from '../../../http/context.ts'
import type { EndUserIds } from '../../../log/end-users.ts'
import { listenerLimits } from './limits.ts'
import { nextWithJson } from './request-body.ts'

type Tags = NonNullable<RequestRouted['tags']>

const header = 'X-Gateway-Tags'

const invalid = (message: string, param: string): GatewayError => new GatewayError('invalid_value', message, { param })

const unprintable = /[\p{Cc}\p{Surrogate}]/u

const checkValue = (name: string, value: unknown, param: string): string => {
  const most = listenerLimits.tagCharactersMax
  const isText = typeof value === 'string'
  if (isText && unprintable.test(value))
    throw invalid(`The tag \`${name}\` must be a text without control characters.`, param)
  if (isText && value !== '' && value.length <= most) return value
  const found = isText ? `${value.length} characters` : typeof value
  throw invalid(`The tag \`${name}\` must be a text of 1 to ${most} characters, got ${found}.`, param)
}

const shownCharacters = 100

const readPair = (pair: string, names: ReadonlySet<string>): readonly [name: string, value: string] => {
  const at = pair.indexOf('=')
  const name = pair.slice(0, Math.max(0, at)).trim()
  if (at < 0 || name === '')
    throw invalid(
      `The header \`${header}\` must be such as \`team=search,env=prod\`, got \`${pair.slice(0, shownCharacters)}\`.`,
      header,
    )
  if (!names.has(name))
    throw invalid(
      `The header \`${header}\` names the tag \`${name.slice(0, shownCharacters)}\`, which is not configured here. An operator lists names in \`tags\`.`,
      header,
    )
  return [name, checkValue(name, pair.slice(at + 1).trim(), header)]
}

const readHeader = (given: string, names: ReadonlySet<string>): Tags => {
  const tags: Record<string, string> = {}
  for (const pair of given.split(',')) {
    const [name, value] = readPair(pair, names)
    if (Object.hasOwn(tags, name)) throw invalid(`The header \`${header}\` has the tag \`${name}\` twice.`, header)
    tags[name] = value
  }
  return tags
}

/** Other members of the metadata are the caller's own. */
const readMetadata = (metadata: JsonObject, names: ReadonlySet<string>): Tags =>
  Object.fromEntries(
    Object.entries(metadata)
      .filter(([name]) => names.has(name))
      .map(([name, value]) => [name, checkValue(name, value, `metadata.${name}`)]),
  )

const noTags: Tags = {}

/** Those of the header override those of the metadata. Throws `invalid_value`. */
export const readTags = (
  { 'x-gateway-tags': given }: IncomingHttpHeaders,
  body: JsonObject,
  names: ReadonlySet<string>,
): Tags => {
  if (given === undefined && body['metadata'] === undefined) return noTags
  const ofHeader = given === undefined ? {} : readHeader(String(given), names)
  const tags = { ...readMetadata(asObject(body['metadata']), names), ...ofHeader }
  const count = Object.keys(tags).length
  if (count > listenerLimits.tagsMax)
    throw invalid(`A request may have ${listenerLimits.tagsMax} tags, got ${count}.`, header)
  return tags
}

/** Where each API has the caller's own user. */
type EndUserMember = 'user' | 'metadata.user_id'

const readEndUser = (body: JsonObject, member: EndUserMember): string | null => {
  const { safety_identifier, user, metadata } = body
  const given = member === 'user' ? (safety_identifier ?? user) : asObject(metadata)['user_id']
  return typeof given === 'string' && given !== '' ? given : null
}

interface AttributionParts {
  readonly tagNames: ReadonlySet<string>
  readonly endUsers: Pick<EndUserIds, 'resolveId'>
}

type Attribution = NonNullable<HttpState['attribution']>

const readAttribution = (
  ctx: Parameters<HttpMiddleware>[0],
  { tagNames, endUsers }: AttributionParts,
  endUserMember: EndUserMember,
): Attribution | Promise<Attribution> => {
  const body = asObject(jsonOfContext(ctx).value)
  const tags = readTags(ctx.req.headers, body, tagNames)
  const tagged = Object.keys(tags).length === 0 ? {} : { tags }
  const name = readEndUser(body, endUserMember)
  if (name === null) return tagged
  return endUsers.resolveId(keyOfContext(ctx).workspaceId, name).then((endUser) => ({ ...tagged, endUser }))
}

/**
 * Notes the tags and the end user of a request. Throws `invalid_value`, and `log_unavailable` without the end user's id.
 * It holds no part of the parsed body while the request runs: the collector may take that.
 */
export const attributeRequest =
  (parts: AttributionParts, endUserMember: EndUserMember): HttpMiddleware =>
  (ctx, next) => {
    const read = readAttribution(ctx, parts, endUserMember)
    const goOn = (attribution: Attribution): Promise<void> => {
      ctx.state.attribution = attribution
      return nextWithJson(ctx, next)
    }
    return read instanceof Promise ? read.then(goOn) : goOn(read)
  }
