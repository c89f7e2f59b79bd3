import { type FoundEvent, findEvent, findSeal } from '../../../../audit/find-frame.ts'
import type { FrameSource } from '../../../../audit/frames.ts'
import type { Verifier } from '../../../../audit/note.ts'
import { makeProof, type Proof } from '../../../../audit/proof.ts'
import { GatewayError } from '../../../../errors.ts'
import { decodeFrame } from '../../../../events/codec.ts'
import { isObject } from '../../../../json.ts'
import { limits } from '../../../../limits.ts'
import type { ChargeTrace } from '../../../../read-models/charge-trace.ts'
import { within } from '../../../../within.ts'
import { type EdgeMiddleware, workspaceReadBy } from '../../middleware/context.ts'
import type { EdgeReadModels } from '../../read-models.ts'
import { Turns } from '../../turns.ts'
import { readTables } from '../read-tables.ts'
import { idIn, logUnreadable, unknownCharge } from './charge.ts'
import { readQuery } from './query.ts'

export interface ProofParts {
  readonly readModels: EdgeReadModels
  readonly frames: Pick<FrameSource, 'read'>
  /** Whose checkpoints of the log are believed. */
  readonly verifiers: readonly Verifier[]
}

const unverified = (): GatewayError =>
  new GatewayError('not_implemented', "The log's public key is not configured here, so nothing can be proved.")

const notSealed = (): GatewayError =>
  new GatewayError('conflict', 'No checkpoint seals the charge yet. Try again in a second.')

const ofOthers = (): GatewayError =>
  new GatewayError(
    'access_denied',
    'The proof holds a whole frame of the log, in which other workspaces have events too: an administrator can hand it out.',
  )

const utf8 = new TextDecoder()

/** A frame is proved whole: what other workspaces did in it is nothing for a key. Prices and checkpoints are nobody's own. */
const holdsOthers = ({ frame }: FoundEvent, workspaceId: string): boolean =>
  decodeFrame(utf8.decode(frame.data)).events.some(
    ({ data }) => isObject(data) && data['workspaceId'] !== undefined && data['workspaceId'] !== workspaceId,
  )

const found = async ({ frames }: ProofParts, id: string, { sequences }: ChargeTrace): Promise<FoundEvent | null> => {
  const [first] = sequences
  const last = sequences.at(-1)
  return first === undefined || last === undefined ? null : findEvent(frames, id, first, last)
}

const prove = async ({ frames, verifiers }: ProofParts, event: FoundEvent, trace: ChargeTrace): Promise<Proof> => {
  const at = trace.seals.get(event.frame.sequence)?.sequence
  const seal = at === undefined ? null : await findSeal(frames, event.frame.sequence, verifiers, at, at)
  if (seal === null) throw notSealed()
  return makeProof(event.frame, event.indexInFrame, seal)
}

const proveTraced = async (
  parts: ProofParts,
  id: string,
  trace: ChargeTrace,
  mayHandOut: (event: FoundEvent) => boolean,
): Promise<Proof> => {
  try {
    const event = await found(parts, id, trace)
    if (event === null) throw unknownCharge()
    if (!mayHandOut(event)) throw ofOthers()
    return await prove(parts, event, trace)
  } catch (fault) {
    throw fault instanceof GatewayError ? fault : logUnreadable(fault)
  }
}

/** GET …/charges/{id}/proof: a file that proves one charge with the log's public key and nothing else. */
export const showProof = (parts: ProofParts): EdgeMiddleware => {
  const turns = new Turns(limits.explainsAtOnceMax)
  return async (ctx) => {
    readQuery(ctx, {})
    const id = idIn(ctx.path)
    const workspaceId = workspaceReadBy(ctx)
    const trace = await readTables(ctx, parts.readModels.findTrace(id))
    if (trace === undefined || trace.workspaceId !== workspaceId) throw unknownCharge()
    if (parts.verifiers.length === 0) throw unverified()
    const mayHandOut = (event: FoundEvent): boolean => ctx.state.admin !== undefined || !holdsOthers(event, workspaceId)
    const proving = turns.take(() => proveTraced(parts, id, trace, mayHandOut))
    ctx.body = await within(proving, limits.explainMs, () => logUnreadable())
    ctx.attachment(`${id}.proof.json`)
    ctx.type = 'application/json'
  }
}
