import { checkMembers } from '../canonical/allowed-members.ts'
import { droppedTools, type Target, type UpstreamCallRequest, type UpstreamRequest } from '../dialect/dialect.ts'
import { makerOf } from '../dialect/provider-mark.ts'
import { fitMembers, postToOpenAI } from '../openai/request.ts'
import { refuseChargedMembers } from '../openai/usage.ts'
import { responsesMembers } from './allowed-members.ts'
import { detachedInput } from './input-ids.ts'
import { refuseResponsesAccountReferences } from './references.ts'
import { withoutMarks } from './sealed-reasoning.ts'
import { priceableTools } from './tools.ts'
import { refuseUnpricedResponsesTools, withoutUnpricedResponsesTools } from './unpriced-tools.ts'

type Draft = Record<string, unknown>

const capOutput = (draft: Draft, outputCap: number): void => {
  const own = draft['max_output_tokens']
  draft['max_output_tokens'] = typeof own === 'number' ? Math.min(own, outputCap) : outputCap
}

function* bodyOf(target: Target, { body, outputCap }: UpstreamCallRequest): Generator<void, Draft> {
  const { provider, upstreamModel } = target
  const draft: Draft = { ...body, model: upstreamModel }
  if ('input' in draft) {
    const input = withoutMarks(makerOf(target), draft['input'])
    yield
    draft['input'] = detachedInput(input)
    yield
  }
  fitMembers(draft, target)
  if (outputCap !== null) capOutput(draft, outputCap)
  if ('tools' in draft) draft['tools'] = priceableTools(draft['tools'])
  // xAI charges for these searches, and its answers do not report the charge in a way that we bill.
  if (provider.profile === 'xai') delete draft['search_parameters']
  return draft
}

/** Forwards unknown top-level keys. Throws `unsupported_parameter`. */
export function* responsesRequest(target: Target, request: UpstreamCallRequest): Generator<void, UpstreamRequest> {
  const { provider, sheet } = target
  refuseResponsesAccountReferences(request.body)
  yield
  yield* checkMembers(responsesMembers, request.body, provider)
  yield
  refuseChargedMembers(target, request.body)
  refuseUnpricedResponsesTools(sheet, provider.profile, request.body)
  yield
  const body = withoutUnpricedResponsesTools(sheet, request.body)
  yield
  const posted = postToOpenAI(provider, '/responses', request.stream, yield* bodyOf(target, { ...request, body }))
  return { ...posted, ...droppedTools(request.body, body) }
}
