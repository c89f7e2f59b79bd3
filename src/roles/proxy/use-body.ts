import { takeSteps } from '../../encoding/steps.ts'
import { encodeJsonInSteps } from '../../encoding/write-json.ts'
import { runWhereLarge } from '../../runtime/large-steps.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import type { AnswerRequest, RoutedRequest } from '../dispatch.ts'

/**
 * A large body may have to be parsed again: that is a step of its own, and what is done with the body another. A small one
 * is not read here, since most uses do not need it.
 */
export const useBody = <T>(call: AnswerRequest, use: (call: AnswerRequest) => T | Promise<T>): T | Promise<T> => {
  const { workspaceId, bodyBytes: bytes = 0 } = call
  return bytes > sharedLimits.turnBytes ? useLarge({ workspaceId, bytes }, call, use) : use(call)
}

const useLarge = async <T>(
  large: Parameters<typeof runWhereLarge>[0],
  call: AnswerRequest,
  use: (call: AnswerRequest) => T | Promise<T>,
): Promise<T> => {
  const body = await runWhereLarge(large, () => call.body)
  return runWhereLarge(large, () => use({ ...call, body }))
}

/** What is sent upstream; of a large request in steps. */
export const encodeBody = (
  { workspaceId, bodyBytes: bytes = 0 }: Pick<RoutedRequest, 'workspaceId' | 'bodyBytes'>,
  body: object,
): Buffer | Promise<Buffer> =>
  bytes > sharedLimits.turnBytes
    ? takeSteps(encodeJsonInSteps(body), (step) => runWhereLarge({ workspaceId, bytes }, step))
    : Buffer.from(JSON.stringify(body))
