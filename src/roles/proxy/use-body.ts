import { type RunStep, takeSteps } from '../../encoding/steps.ts'
import { jsonPieces } from '../../encoding/write-json.ts'
import type { AnswerBody } from '../../providers/dialect/dialect.ts'
import { useMade } from '../../runtime/collectable.ts'
import { runWhereLarge } from '../../runtime/large-steps.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import type { AnswerRequest, JsonRecord, RoutedRequest } from '../dispatch.ts'

/**
 * A large body may have to be parsed again, in steps of its own; what is done with the body is another, or several where
 * `useSteps` is given. Rejects with the reason of `signal` once that is aborted, in place of a further step. A small one is not read here, since most uses do not need it.
 */
export const useBody = <T, Call extends RoutedRequest = AnswerRequest>(
  call: Call,
  use: (call: Call) => T | Promise<T>,
  useSteps?: (call: Call) => Generator<void, T>,
  signal?: AbortSignal,
): T | Promise<T> => {
  const { workspaceId, bodyBytes: bytes = 0 } = call
  if (bytes <= sharedLimits.turnBytes) return use(call)
  if (useSteps !== undefined) return takeSteps(readAndUse(call, useSteps), stepsOf(call, signal))
  return useMade<JsonRecord, T | Promise<T>>({ workspaceId, bytes }, { steps: () => bodySteps(call) }, (body) =>
    use({ ...call, body }),
  )
}

const stepsOf =
  ({ workspaceId, bodyBytes: bytes = 0 }: RequestSize, signal: AbortSignal | undefined): RunStep =>
  (step) =>
    runWhereLarge({ workspaceId, bytes }, () => {
      signal?.throwIfAborted()
      return step()
    })

function* readAndUse<T, Call extends RoutedRequest>(
  call: Call,
  use: (call: Call) => Generator<void, T>,
): Generator<void, T> {
  const body = yield* bodySteps(call)
  yield
  return yield* use({ ...call, body })
}

function* bodySteps(call: RoutedRequest): Generator<void, JsonRecord> {
  return call.bodySteps === undefined ? call.body : yield* call.bodySteps()
}

type RequestSize = Pick<RoutedRequest, 'workspaceId' | 'bodyBytes'>

/** What is sent upstream; of a large request in steps, until `signal` is aborted as in `useBody`. */
export const encodeBody = (size: RequestSize, body: object, signal?: AbortSignal): Buffer | Promise<Buffer> =>
  (size.bodyBytes ?? 0) > sharedLimits.turnBytes
    ? takeSteps(encodeInSteps(body), stepsOf(size, signal))
    : Buffer.from(JSON.stringify(body))

/** What is sent to the client, which repeats much of its request on some surfaces. */
export const encodeAnswer = (
  { workspaceId, bodyBytes = 0 }: RequestSize,
  upstreamBytes: number,
  body: AnswerBody,
): Uint8Array | Promise<Uint8Array> =>
  body instanceof Uint8Array ? body : encodeBody({ workspaceId, bodyBytes: bodyBytes + upstreamBytes }, body)

function* encodeInSteps(body: object): Generator<void, Buffer> {
  const pieces: Buffer[] = []
  for (const piece of jsonPieces(body)) {
    pieces.push(Buffer.from(piece))
    yield
  }
  return Buffer.concat(pieces)
}
