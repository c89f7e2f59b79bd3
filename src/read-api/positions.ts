import { hkdfSync } from 'node:crypto'
import { openSealedText, sealText } from '../encoding/sealed-text.ts'
import { logUnavailable } from '../errors/gateway-error.ts'
import { canRead, type HttpContext } from '../http/context.ts'
import { tokenCursor } from '../http/page.ts'
import { invalidParameter } from '../http/query.ts'
import { type FrameSource, readFrameAt } from '../log/raw-frames.ts'
import type { EntryPosition } from '../projections/statements/queries.ts'
import { withTimeout } from '../runtime/within.ts'
import { readLimits } from './limits.ts'
import type { EdgeReadModels } from './read-models.ts'

/** What a token is for: one for a page of a list is none for another list, or for another workspace. */
interface TokenUse {
  readonly purpose: 'position' | 'statement' | 'charges' | 'requests'
  readonly workspaceId: string
}

/** Positions in the log as text that a customer can hand back, and neither read nor make. Reject with `log_unavailable`. */
export interface Positions {
  toToken(use: TokenUse, position: EntryPosition): Promise<string>
  /** Undefined for a text that is no token for this use. */
  fromToken(use: TokenUse, text: string): Promise<EntryPosition | undefined>
}

const keyBytes = 32
const places = { sequence: 0, eventIndex: 8, line: 12, length: 14 } as const

const toBytes = ({ sequence, eventIndex, line }: EntryPosition): Buffer => {
  const bytes = Buffer.alloc(places.length) // All have one length, so that a token's length reveals nothing.
  bytes.writeBigUInt64BE(BigInt(sequence), places.sequence)
  bytes.writeUInt32BE(eventIndex, places.eventIndex)
  bytes.writeUInt16BE(line, places.line)
  return bytes
}

const fromBytes = (bytes: Buffer): EntryPosition => ({
  sequence: Number(bytes.readBigUInt64BE(places.sequence)),
  eventIndex: bytes.readUInt32BE(places.eventIndex),
  line: bytes.readUInt16BE(places.line),
})

const purposeOf = ({ purpose, workspaceId }: TokenUse): string => `${purpose} ${workspaceId}`

interface PositionParts {
  readonly frames: Pick<FrameSource, 'read'>
  readonly lastSequence: () => Promise<number>
  readonly randomText: () => string
}

/**
 * The key is derived from the first frame: every edge has the same one at all times, without configuration. It
 * is known only with access to the log: its ids are random, and proofs are of charges, which cannot be first.
 */
export const createPositions = ({ frames, lastSequence, randomText }: PositionParts): Positions => {
  let known: Promise<Buffer> | null = null
  const readKey = async (): Promise<Buffer> => {
    const first = await readFrameAt(frames, 1, await lastSequence())
    if (first === null) throw logUnavailable()
    return Buffer.from(hkdfSync('sha256', first.data, first.id, 'positions in the log', keyBytes))
  }
  const findKey = (): Promise<Buffer> => {
    known ??= withTimeout(readKey(), readLimits.explainMs, () => logUnavailable()).catch((cause: unknown) => {
      known = null
      throw logUnavailable(cause)
    })
    return known
  }
  return {
    toToken: async (use, position) => sealText(await findKey(), randomText(), purposeOf(use), toBytes(position)),
    fromToken: async (use, text) => {
      const bytes = openSealedText(await findKey(), purposeOf(use), text)
      return bytes?.length === places.length ? fromBytes(bytes) : undefined
    },
  }
}

export interface PagedParts {
  readonly readModels: EdgeReadModels
  readonly positions: Positions
}

type List = Exclude<TokenUse['purpose'], 'position'>

/** Of all workspaces: none. */
const useOf = (ctx: HttpContext, purpose: List): TokenUse => ({ purpose, workspaceId: canRead(ctx) ?? '' })

/** Throws `invalid_value` for a cursor of another list or workspace. */
export const readCursor = async (
  ctx: HttpContext,
  positions: Positions,
  purpose: List,
  cursor: string | undefined,
): Promise<EntryPosition | undefined> => {
  if (cursor === undefined) return undefined
  const opened = await positions.fromToken(useOf(ctx, purpose), cursor)
  if (opened === undefined) throw invalidParameter('cursor', tokenCursor.form)
  return opened
}

export const writeCursor = async (
  ctx: HttpContext,
  positions: Positions,
  purpose: List,
  next: EntryPosition | null,
): Promise<string | null> => (next === null ? null : positions.toToken(useOf(ctx, purpose), next))
