import type { Logger } from '../../../../runtime/logger.ts'
import type { AnswerPart } from '../../../dispatch.ts'
import type { KeyLease } from '../../admission/idempotency/key-lease.ts'
import { admissionLimits } from '../../admission/limits.ts'

type Bytes = Extract<AnswerPart, { type: 'bytes' }>

const bodyBytesMax = admissionLimits.outcomeBytesMax - admissionLimits.outcomeHeadBytesMax

const joined = (pieces: readonly Bytes[]): Bytes => ({
  type: 'bytes',
  bytes: pieces.length === 1 ? pieces[0]!.bytes : Buffer.concat(pieces.map(({ bytes }) => bytes)),
})

/** The last piece waits for `keep`. Of a body that is too large, only the fact that it was given is stored. */
export async function* captureResponse(
  parts: AsyncIterable<AnswerPart>,
  held: KeyLease,
  keep: (contentType: string, body: Uint8Array) => Promise<void>,
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
  if (bytesCount > bodyBytesMax) await held.storeNothing('size')
  else await keep(contentType, joined(waiting).bytes)
  yield joined(waiting)
}

/**
 * Yields a stream as it comes; once a part was given, that fact is stored before the stream ends. Where it cannot be
 * stored, the log still shows a repeat of the request that it was charged.
 */
export async function* captureStream(
  parts: AsyncIterable<AnswerPart>,
  held: KeyLease,
  logger: Logger,
): AsyncGenerator<AnswerPart> {
  let isBegun = false
  try {
    for await (const part of parts) {
      if (part.type === 'bytes') isBegun = true
      yield part
    }
  } finally {
    if (isBegun)
      await held.storeNothing('stream').catch((fault: unknown) => {
        logger.log('idempotency.stream_not_stored', { fault })
      })
  }
}
