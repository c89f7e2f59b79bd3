import { findOwner } from '../audit/evidence.ts'
import { explainCharge } from '../audit/explain-charge.ts'
import { type FoundEvent, findEvent, findSeal } from '../audit/find-frame.ts'
import type { Verifier } from '../audit/note.ts'
import { makeProof, type Proof } from '../audit/proof.ts'
import { type ChargeTables, readEvidence, readFramesAt } from '../audit/read-evidence.ts'
import { GatewayError } from '../errors/gateway-error.ts'
import { decodeFrame } from '../events/codec.ts'
import { type HttpContext, type HttpMiddleware, readableWorkspace } from '../http/context.ts'
import { readQuery } from '../http/query.ts'
import type { FrameSource } from '../log/raw-frames.ts'
import { rowMismatch } from '../log/row-frames.ts'
import type { ChargeTrace } from '../projections/charges/charge-trace.ts'
import type { Logger } from '../runtime/logger.ts'
import { Semaphore } from '../runtime/semaphore.ts'
import { withTimeout } from '../runtime/within.ts'
import { isHiddenFromKeys } from './customer-events.ts'
import { readLimits } from './limits.ts'
import type { EdgeReadModels } from './read-models.ts'
import { fromTables, readTables } from './read-tables.ts'
import { bodyFor } from './reflect-position.ts'
import type { LedgerChargeResponse, LedgerProofResponse } from './responses.types.ts'

const chargePath = /\/ledger\/charges\/([A-Za-z0-9_:-]{1,64})(?:\/proof)?\/?$/i

const unknownCharge = (): GatewayError =>
  new GatewayError('not_found', 'No request or task of this workspace has this id, as far as the tables have followed.')

/** Throws `not_found` for a malformed id. */
const idIn = (path: string): string => {
  const id = chargePath.exec(path)?.[1]
  if (id === undefined) throw unknownCharge()
  return id
}

interface TraceRequest {
  readonly id: string
  readonly trace: ChargeTrace
  /** The sequence of the log that the tables reflect. */
  readonly sequence: number
}

/** Throws `not_found` where the workspace has no such charge. */
const findRequestedTrace = async (ctx: HttpContext, readModels: EdgeReadModels): Promise<TraceRequest> => {
  readQuery(ctx, {})
  const id = idIn(ctx.path)
  const workspaceId = readableWorkspace(ctx)
  const finding = readModels.findTrace(id, workspaceId)
  const trace = await readTables(ctx, finding)
  if (trace === undefined || trace.workspaceId !== workspaceId) throw unknownCharge()
  return { id, trace, sequence: (await finding).sequence }
}

const unreadable = (cause?: unknown): GatewayError =>
  new GatewayError('log_unavailable', 'The event log cannot be read right now. Try again shortly.', {
    cause,
    retryAfterSeconds: 1,
  })

const fromLog = async <T>(read: () => Promise<T>): Promise<T> => {
  try {
    return await read()
  } catch (fault) {
    throw fault instanceof GatewayError ? fault : unreadable(fault)
  }
}

/** Bounds concurrent reads of the stored log. Throws `log_unavailable` where a read fails or is late. */
const limitLogReads = (): (<T>(workspaceId: string, read: () => Promise<T>) => Promise<T>) => {
  const semaphore = new Semaphore(readLimits.explainsAtOnceMax)
  return (workspaceId, read) => {
    let isAwaited = true
    const answer = semaphore.run(workspaceId, () => (isAwaited ? fromLog(read) : Promise.reject(unreadable())))
    return withTimeout(answer, readLimits.explainMs, () => {
      isAwaited = false
      return unreadable()
    })
  }
}

interface ChargeParts {
  readonly readModels: EdgeReadModels
  readonly frames: Pick<FrameSource, 'read'>
  readonly logger: Logger
}

/** Makes faults of the tables distinguishable from those of the log. */
const wrapTableFaults = (readModels: EdgeReadModels): ChargeTables => ({
  findSheetSequence: (model, version) => fromTables(readModels.findSheetSequence(model, version)),
  findKey: (keyId) => fromTables(readModels.findKey(keyId)),
})

export const showCharge = ({ readModels, frames, logger }: ChargeParts): HttpMiddleware => {
  const readLog = limitLogReads()
  const tables = wrapTableFaults(readModels)
  return async (ctx) => {
    const { id, trace, sequence } = await findRequestedTrace(ctx, readModels)
    const explanation = await readLog(trace.workspaceId, async () => {
      const evidence = await readEvidence(frames, tables, id, { trace, sequence })
      const owner = findOwner(evidence.events)
      if (owner === null || owner === trace.workspaceId) return explainCharge(evidence)
      throw rowMismatch({ logger }, { table: 'requests', id, sequences: trace.sequences }, 'it is of another workspace')
    })
    if (explanation === null) throw unknownCharge()
    ctx.body = bodyFor(ctx, explanation satisfies LedgerChargeResponse)
  }
}

export interface ProofParts extends ChargeParts {
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
    'The proof holds a whole frame of the log, in which other workspaces or the operator have events too: an administrator can hand it out.',
  )

const utf8 = new TextDecoder()

/** A proof has the whole frame: a key must not see other workspaces' events, nor the operator's. */
const holdsOthers = ({ frame }: FoundEvent, workspaceId: string): boolean =>
  decodeFrame(utf8.decode(frame.data)).events.some((event) => isHiddenFromKeys(event, workspaceId))

/** A video takes minutes, and its corrections weeks: what others have between is not read. */
const found = ({ frames }: ProofParts, id: string, { sequences }: ChargeTrace): Promise<FoundEvent | null> =>
  findEvent(readFramesAt(frames, sequences), id)

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
    const proof = await readLog(trace.workspaceId, async () => {
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
