import { FairShares } from '../../../../runtime/fair-shares.ts'
import { runWhereLarge } from '../../../../runtime/large-steps.ts'
import type { Logger } from '../../../../runtime/logger.ts'
import type { AnswerPart } from '../../../dispatch.ts'
import type { KeyLease, RequestOutcome } from '../../admission/idempotency/key-lease.ts'
import { admissionLimits } from '../../admission/limits.ts'

const bodyBytesMax = admissionLimits.outcomeBytesMax - admissionLimits.outcomeHeadBytesMax

interface CaptureParts {
  readonly workspaceId: string
  readonly held: Pick<KeyLease, 'store' | 'storeNothing'>
  readonly headersOf: (contentType: string) => RequestOutcome['headers']
}

type Bytes = Extract<AnswerPart, { type: 'bytes' }>

const joined = (pieces: readonly Bytes[]): Bytes => ({
  type: 'bytes',
  bytes: pieces.length === 1 ? pieces[0]!.bytes : Buffer.concat(pieces.map(({ bytes }) => bytes)),
})

/** The last piece waits until the answer is stored. Of one that is too large, only the fact that it was given is. */
export async function* captureResponse(
  parts: AsyncIterable<AnswerPart>,
  { held, headersOf, workspaceId }: CaptureParts,
): AsyncGenerator<AnswerPart> {
  let contentType = ''
  let waiting: Bytes[] = []
  let bytesCount = 0
  for await (const part of parts) {
    if (part.type === 'head') {
      contentType = part.contentType
      yield part
      continue
    }
    bytesCount += part.bytes.length
    waiting.push(part)
    if (bytesCount <= bodyBytesMax) continue
    yield* waiting.slice(0, -1)
    waiting = [part]
  }
  if (waiting.length === 0) return
  const last = joined(waiting)
  if (bytesCount > bodyBytesMax) await held.storeNothing('size')
  else
    await runWhereLarge({ workspaceId, bytes: bytesCount }, () =>
      held.store({ status: 200, headers: headersOf(contentType), body: last.bytes }),
    )
  yield last
}

export const captureShares = (bytesMax: number = admissionLimits.capturedBytesMax): FairShares =>
  new FairShares(bytesMax, admissionLimits.shareWaitMs)

class CapturedStream {
  readonly #shares: FairShares
  readonly #workspaceId: string
  #pieces: Buffer[] | null = []
  #bytes = 0
  contentType = ''
  hasBytes = false
  isWhole = false

  constructor(shares: FairShares, workspaceId: string) {
    this.#shares = shares
    this.#workspaceId = workspaceId
  }

  get body(): Buffer | null {
    return this.#pieces && Buffer.concat(this.#pieces)
  }

  /** Copies: a piece may be a view of a larger buffer. */
  add(part: AnswerPart): void {
    if (part.type === 'head') {
      this.contentType = part.contentType
      return
    }
    const { length } = part.bytes
    this.hasBytes = true
    if (this.#pieces === null) return
    if (this.#bytes + length > bodyBytesMax || !this.#shares.take(this.#workspaceId, length)) {
      this.release()
      return
    }
    this.#bytes += length
    this.#pieces.push(Buffer.from(part.bytes))
  }

  release(): void {
    this.#shares.leave(this.#workspaceId, this.#bytes)
    this.#bytes = 0
    this.#pieces = null
  }
}

async function* record(parts: AsyncIterable<AnswerPart>, captured: CapturedStream): AsyncGenerator<AnswerPart> {
  for await (const part of parts) {
    captured.add(part)
    yield part
  }
  captured.isWhole = true
}

const storeStream = async (captured: CapturedStream, { held, headersOf }: CaptureParts): Promise<void> => {
  if (!captured.hasBytes) return
  const { contentType, body, isWhole } = captured
  if (!isWhole) await held.storeNothing('stream')
  else if (body === null) await held.storeNothing('size')
  else await held.store({ status: 200, headers: headersOf(contentType), body })
}

/**
 * Yields a stream as it comes, and reads it to its end also after its client has left. Where that cannot be stored, the
 * log still shows a repeat of the request that it was charged.
 */
export async function* captureStream(
  parts: AsyncIterable<AnswerPart>,
  capture: CaptureParts,
  { captured: shares, logger }: { readonly captured: FairShares; readonly logger: Logger },
): AsyncGenerator<AnswerPart> {
  const captured = new CapturedStream(shares, capture.workspaceId)
  const recorded = record(parts, captured)
  try {
    // A `for await` would end the stream where its client leaves.
    for (let next = await recorded.next(); next.done !== true; next = await recorded.next()) yield next.value
  } finally {
    try {
      while ((await recorded.next()).done !== true);
    } finally {
      await storeStream(captured, capture).catch((fault: unknown) => {
        logger.log('idempotency.stream_not_stored', { fault })
      })
      captured.release()
    }
  }
}
