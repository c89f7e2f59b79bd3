import { buildInSteps, openInSteps, type Target, type UpstreamCallRequest, type UpstreamDialect } from './dialect.ts'

/** For a provider whose models speak several formats: that of the target, or of the request. Errors are its own. */
export const byTarget = (
  choose: (target: Target, request: UpstreamCallRequest) => UpstreamDialect,
  readRefusal: UpstreamDialect['readRefusal'],
): UpstreamDialect => ({
  buildRequest: (target, request) => choose(target, request).buildRequest(target, request),
  *buildSteps(target, request) {
    const chosen = choose(target, request)
    yield
    return yield* buildInSteps(chosen, target, request)
  },
  readAnswer: (target, request, body) => choose(target, request).readAnswer(target, request, body),
  completeAnswer: (answer, counted, target, request) =>
    choose(target, request).completeAnswer(answer, counted, target, request),
  openRelay: (target, request) => choose(target, request).openRelay(target, request),
  openSteps: (target, request) => openInSteps(choose(target, request), target, request),
  countUsage: (target, request, delivered) => choose(target, request).countUsage(target, request, delivered),
  readRefusal,
})
