import { isObject } from '../encoding/json.ts'
import { GatewayError, logUnavailable } from '../errors/gateway-error.ts'
import { canRead, type HttpContext, type HttpMiddleware } from '../http/context.ts'
import { waitUntilSequence } from '../runtime/wait-until-sequence.ts'
import { withTimeout } from '../runtime/within.ts'
import { readLimits } from './limits.ts'
import type { Positions } from './positions.ts'
import type { EdgeReadModels } from './read-models.ts'
import { fromTables, sequenceHeader } from './read-tables.ts'

interface PositionParts {
  readonly positions: Positions
  readonly readModels: Pick<EdgeReadModels, 'findCheckpoint'>
}

const isAdmin = ({ state }: HttpContext): boolean => state.admin !== undefined

const useOf = (ctx: HttpContext) => ({ purpose: 'position', workspaceId: canRead(ctx) ?? '' }) as const

const decimal = /^\d{1,15}$/

const seenIn = async (ctx: HttpContext, positions: Positions, text: string): Promise<number> => {
  if (isAdmin(ctx) && decimal.test(text)) return Number(text)
  const seen = isAdmin(ctx) ? undefined : await positions.fromToken(useOf(ctx), text)
  if (seen !== undefined) return seen.sequence
  throw new GatewayError(
    'invalid_value',
    `Invalid header '${sequenceHeader}': it must be that of an answer to the same workspace.`,
    {
      param: sequenceHeader,
    },
  )
}

const awaitTables = async (ctx: HttpContext, { readModels }: PositionParts, sequence: number): Promise<void> => {
  const read = async (): Promise<number> =>
    (await fromTables(readModels.findCheckpoint(canRead(ctx) ?? undefined))).sequence
  if ((await waitUntilSequence(sequence, { read, pausesMs: readLimits.awaitTablesMs })) >= sequence) return
  throw new GatewayError('read_models_unavailable', 'What was answered before cannot be read here yet.', {
    retryAfterSeconds: 1,
  })
}

const shownOf = (ctx: HttpContext, positions: Positions, sequence: number): Promise<string | null> =>
  isAdmin(ctx)
    ? Promise.resolve(String(sequence))
    : withTimeout<string | null>(
        positions.toToken(useOf(ctx), { sequence, eventIndex: 0, line: 0 }),
        readLimits.positionKeyMs,
        () => logUnavailable(),
      ).catch(() => null) // The answer itself does not need the log.

/**
 * An answer has the position of the log that it reflects in a header: a number for administrators, a token for keys. A
 * request with the header is answered from tables that have come as far. Throws `invalid_value` for one of another
 * workspace, `read_models_unavailable` where they do not within `awaitTablesMs`.
 */
export const reflectPosition =
  (parts: PositionParts): HttpMiddleware =>
  async (ctx, next) => {
    const { positions } = parts
    const given = ctx.get(sequenceHeader)
    if (given !== '') await awaitTables(ctx, parts, await seenIn(ctx, positions, given))
    await next()
    const { reflects } = ctx.state
    const shown = reflects === undefined ? null : await shownOf(ctx, positions, reflects)
    if (shown !== null) ctx.set(sequenceHeader, shown)
  }

const positionMembers: ReadonlySet<string> = new Set(['sequence', 'log_sequence', 'event_index', 'sealed_by'])

const withoutPositions = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutPositions)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !positionMembers.has(name))
      .map(([name, member]) => [name, name === 'checkpoint' && member !== null ? {} : withoutPositions(member)]),
  )
}

/** Positions in the log reveal how much all workspaces do: a key gets the body without them. */
export const bodyFor = (ctx: HttpContext, body: object): unknown => (isAdmin(ctx) ? body : withoutPositions(body))
