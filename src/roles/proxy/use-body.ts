import { takeSteps } from '../../encoding/steps.ts'
import { jsonPieces } from '../../encoding/write-json.ts'
import { useMade } from '../../runtime/collectable.ts'
import { runWhereLarge } from '../../runtime/large-steps.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import type { AnswerRequest, JsonRecord, RoutedRequest } from '../dispatch.ts'

/**
 * A large body may have to be parsed again, in steps of its own; what is done with the body is another, or several where
 * `useSteps` is given. A small one is not read here, since most uses do not need it.
 */
export const useBody = <T>(
  call: AnswerRequest,
  use: (call: AnswerRequest) => T | Promise<T>,
  useSteps?: (call: AnswerRequest) => Generator<void, T>,
): T | Promise<T> => {
  const { workspaceId, bodyBytes: bytes = 0 } = call
  if (bytes <= sharedLimits.turnBytes) return use(call)
  if (useSteps !== undefined)
    return takeSteps(readAndUse(call, useSteps), (step) => runWhereLarge({ workspaceId, bytes }, step))
  return useMade<JsonRecord, T | Promise<T>>({ workspaceId, bytes }, { steps: () => bodySteps(call) }, (body) =>
    use({ ...call, body }),
  )
}

function* readAndUse<T>(call: AnswerRequest, use: (call: AnswerRequest) => Generator<void, T>): Generator<void, T> {
  const body = yield* bodySteps(call)
  yield
  return yield* use({ ...call, body })
}

function* bodySteps(call: AnswerRequest): Generator<void, JsonRecord> {
  return call.bodySteps === undefined ? call.body : yield* call.bodySteps()
}

/** What is sent upstream; of a large request in steps. */
export const encodeBody = (
  { workspaceId, bodyBytes: bytes = 0 }: Pick<RoutedRequest, 'workspaceId' | 'bodyBytes'>,
  body: object,
): Buffer | Promise<Buffer> =>
  bytes > sharedLimits.turnBytes
    ? takeSteps(encodeInSteps(body), (step) => runWhereLarge({ workspaceId, bytes }, step))
    : Buffer.from(JSON.stringify(body))

function* encodeInSteps(body: object): Generator<void, Buffer> {
  const pieces: Buffer[] = []
  for (const piece of jsonPieces(body)) {
    pieces.push(Buffer.from(piece))
    yield
  }
  return Buffer.concat(pieces)
}
