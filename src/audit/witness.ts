import { hash } from 'node:crypto'
import { faultText } from '../errors/gateway-error.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { type AddCheckpoint, parseAddCheckpoint, sizeMediaType } from './add-checkpoint.ts'
import { cosign } from './cosignature.ts'
import { emptyRoot, isConsistent } from './merkle.ts'
import {
  type Checkpoint,
  deriveVerifier,
  isSignature,
  NoteFault,
  parseBody,
  type Signer,
  signaturesOf,
  splitNote,
  type Verifier,
} from './note.ts'

/** A log whose checkpoints are cosigned. */
export interface WitnessedLog {
  readonly origin: string
  readonly verifier: Verifier
}

/** What was cosigned last of each log: the checkpoint with the signatures of log and witness. */
export interface CosignedStore {
  read(origin: string): Promise<string | null>
  /** Resolves once it is on disk. */
  write(origin: string, note: string): Promise<void>
}

export interface WitnessAnswer {
  readonly status: 200 | 400 | 403 | 404 | 409 | 422 | 500
  readonly type: string
  readonly body: string
}

export interface WitnessParts {
  readonly logs: readonly WitnessedLog[]
  readonly signer: Signer
  readonly store: CosignedStore
  readonly clock: Clock
  readonly logger: Logger
}

/** Names the state of a log, and the path under which it is read. */
export const originHash = (origin: string): string => hash('sha256', origin)

const textAnswer = (status: WitnessAnswer['status'], body: string): WitnessAnswer => ({
  status,
  type: 'text/plain; charset=utf-8',
  body: body.endsWith('\n') ? body : `${body}\n`,
})

interface TrustedCheckpoint {
  readonly checkpoint: Checkpoint
  readonly body: string
  /** The log's lines that were verified. */
  readonly lines: string
}

/** C2SP `tlog-witness`: cosigns a checkpoint of a known log only where it extends the one cosigned before. */
export class Witness {
  readonly #parts: WitnessParts
  readonly #verifier: Verifier
  readonly #busy = new Map<string, Promise<unknown>>()

  constructor(parts: WitnessParts) {
    this.#parts = parts
    this.#verifier = deriveVerifier(parts.signer)
  }

  async addCheckpoint(text: string): Promise<WitnessAnswer> {
    try {
      const request = parseAddCheckpoint(text)
      const trusted = this.#openTrusted(request.note)
      if ('status' in trusted) return trusted
      return await this.#inTurn(trusted.checkpoint.origin, () => this.#extend(request, trusted))
    } catch (fault) {
      if (fault instanceof NoteFault) return textAnswer(400, faultText(fault))
      this.#parts.logger.log('witness.state_unusable', { fault })
      return textAnswer(500, 'the state of the witness cannot be read or written')
    }
  }

  /** The last checkpoint that was cosigned of the log whose origin has this hash. */
  async readCheckpoint(name: string): Promise<WitnessAnswer> {
    const known = this.#parts.logs.find(({ origin }) => originHash(origin) === name)
    const note = known === undefined ? null : await this.#parts.store.read(known.origin)
    return note === null ? textAnswer(404, 'no checkpoint of this log was cosigned') : textAnswer(200, note)
  }

  /** Comparing and storing are one step: two requests of one log never cross. */
  #inTurn(origin: string, work: () => Promise<WitnessAnswer>): Promise<WitnessAnswer> {
    const next = (this.#busy.get(origin) ?? Promise.resolve()).then(work, work)
    this.#busy.set(origin, next)
    return next
  }

  #openTrusted(note: string): TrustedCheckpoint | WitnessAnswer {
    const { body, signatures } = splitNote(note)
    const [origin = ''] = body.split('\n', 1)
    const verifiers = this.#parts.logs.filter((log) => log.origin === origin).map(({ verifier }) => verifier)
    if (verifiers.length === 0) return textAnswer(404, 'unknown log')
    const named = verifiers.flatMap((verifier) =>
      signaturesOf(signatures, verifier).map(({ signature, line }) => ({
        line,
        isValid: isSignature(signature, body, verifier),
      })),
    )
    if (named.length === 0 || !named.every(({ isValid }) => isValid))
      return textAnswer(403, 'no valid signature by a known key of the log')
    return { checkpoint: parseBody(body), body, lines: named.map(({ line }) => `${line}\n`).join('') }
  }

  async #extend(request: AddCheckpoint, { checkpoint, body, lines }: TrustedCheckpoint): Promise<WitnessAnswer> {
    const { store, signer, clock, logger } = this.#parts
    const { origin, size } = checkpoint
    if (request.oldSize > size) return textAnswer(400, 'the old size is larger than the checkpoint')
    const held = await store.read(origin)
    const last = held === null ? { size: 0, root: emptyRoot } : parseBody(splitNote(held).body)
    if (last.size !== request.oldSize) return { status: 409, type: sizeMediaType, body: `${last.size}\n` }
    if (!this.#extends(last, checkpoint, request)) {
      logger.log('witness.checkpoint_refused', { log: origin, size, knownSize: last.size, note: request.note })
      return textAnswer(422, 'the checkpoint does not extend the one that was cosigned')
    }
    const line = cosign(body, signer, this.#verifier, clock())
    await store.write(origin, `${body}\n${lines}${line}`)
    logger.log('witness.checkpoint_cosigned', { log: origin, size })
    return textAnswer(200, line)
  }

  #extends(last: Pick<Checkpoint, 'size' | 'root'>, next: Checkpoint, { proof }: AddCheckpoint): boolean {
    if (last.size > 0) return isConsistent(last, next, proof)
    return proof.length === 0 && (next.size > 0 || next.root.equals(emptyRoot))
  }
}
