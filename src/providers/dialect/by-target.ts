import type { Target, UpstreamDialect } from './dialect.ts'

/** For a provider whose models speak several formats: that of the target. Errors are the provider's own. */
export const byTarget = (
  choose: (target: Target) => UpstreamDialect,
  readRefusal: UpstreamDialect['readRefusal'],
): UpstreamDialect => ({
  buildRequest: (target, request) => choose(target).buildRequest(target, request),
  readAnswer: (target, request, body) => choose(target).readAnswer(target, request, body),
  completeAnswer: (answer, counted, target, request) => choose(target).completeAnswer(answer, counted, target, request),
  openRelay: (target, request) => choose(target).openRelay(target, request),
  countUsage: (target, request, delivered) => choose(target).countUsage(target, request, delivered),
  readRefusal,
})
