import { type FoundEvent, findEvent, findSeal } from '../audit/find-frame.ts'
import type { Verifier } from '../audit/note.ts'
import { makeProof, type Proof } from '../audit/proof.ts'
import { isObject } from '../encoding/json.ts'
import { GatewayError } from '../errors/gateway-error.ts'
import { decodeFrame } from '../events/codec.ts'
import type { HttpMiddleware } from '../http/context.ts'
import type { FrameSource } from '../log/raw-frames.ts'
import type { ChargeTrace } from '../projections/charges/charge-trace.ts'
import { findRequestedTrace, unknownCharge } from './charge-trace.ts'
import { limitLogReads } from './read-log.ts'
import type { EdgeReadModels } from './read-models.ts'
import type { LedgerProofResponse } from './responses.types.ts'

export interface ProofParts {
  readonly readModels: EdgeReadModels
  readonly frames: Pick<FrameSource, 'read'>
  /** Their checkpoints of the log are trusted. */
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

/** A proof has the whole frame: a key must not see other workspaces' events. Prices and checkpoints belong to none. */
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

/** GET …/charges/{id}/proof: a file that proves one charge with the log's public key and nothing else. */
export const showProof = (parts: ProofParts): HttpMiddleware => {
  const readLog = limitLogReads()
  return async (ctx) => {
    const { id, trace } = await findRequestedTrace(ctx, parts.readModels)
    if (parts.verifiers.length === 0) throw unverified()
    const proof = await readLog(async () => {
      const event = await found(parts, id, trace)
      if (event === null) throw unknownCharge()
      if (ctx.state.admin === undefined && holdsOthers(event, trace.workspaceId)) throw ofOthers()
      return prove(parts, event, trace)
    })
    ctx.body = proof satisfies LedgerProofResponse
    ctx.attachment(`${id}.proof.json`)
    ctx.type = 'application/json'
  }
}
