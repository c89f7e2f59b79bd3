import { anyText, flag, headerText, integer, malformed, oneOf, readEntries, type ValuesOf } from './directive-rules.ts'
import { sandboxLimits } from './limits.ts'

const count = integer(0, sandboxLimits.sandboxTokensMax)
const calls = integer(0, sandboxLimits.sandboxToolCallsMax)
const delayMs = integer(0, sandboxLimits.sandboxDelayMsMax)

const rules = {
  // What fails, and how. `error_code` is the code that a client checks: OpenAI's `code`, Anthropic's `type`, Google's
  // `status`.
  status: integer(400, 599),
  retry_after: headerText,
  error_code: anyText,
  error_message: anyText,
  leak: anyText,
  first: count,
  html: flag,
  not_json: flag,
  error_200: flag,
  stream_error: count,
  failed: flag, // Responses: the answer is one of status `failed`; with `stream_error` that follows the error event.
  break_after: count,
  hang: flag,
  hang_after: count,
  delay_ms: delayMs,
  first_chunk_delay_ms: delayMs,
  chunk_delay_ms: delayMs,
  // The shape of what is written. `no_done` leaves the closing event out, whichever a format has; `done` adds chat's to
  // others.
  split: integer(1, sandboxLimits.sandboxAnswerBytesMax),
  crlf: flag,
  comment: flag,
  no_done: flag,
  done: flag,
  cookie: flag,
  // What is answered. `finish_reason` is the wire value, in Responses that of an incomplete answer.
  output_tokens: integer(0, sandboxLimits.sandboxOutputTokensMax),
  finish_reason: anyText,
  refusal: flag, // Chat and Responses: the text is sent as a refusal.
  block_reason: anyText, // Google: the prompt is blocked, and nothing is answered.
  redacted_thinking: flag, // Messages.
  reasoning_text: flag, // Responses: reasoning is shown as it is, and not as a summary.
  big_bytes: integer(1, sandboxLimits.sandboxAnswerBytesMax),
  unicode: flag,
  service_tier: anyText,
  profile: oneOf('openai', 'xai', 'gemini'),
  // How often tools are called: functions, and each built-in tool that the request declares (default: once).
  tool_calls: calls,
  searches: calls,
  failed_searches: calls, // Besides the others.
  pages_opened: calls, // Responses: web searches that only open a page.
  x_searches: calls,
  file_searches: calls,
  code_calls: calls,
  containers: integer(1, sandboxLimits.sandboxToolCallsMax), // Over which the code calls are spread.
  images: calls,
  // The reported usage, each figure as on the wire: Anthropic's prompt leaves the cache out, Google's completion
  // reasoning.
  no_usage: flag,
  usage_with_choices: flag,
  prompt_tokens: count,
  start_prompt_tokens: count, // Messages: reported in `message_start`.
  tool_prompt_tokens: count, // Google.
  completion_tokens: count,
  cached_tokens: count,
  cache_write_tokens: count,
  cache_write_1h_tokens: count, // Messages.
  reasoning_tokens: count,
  audio_in_tokens: count,
  audio_out_tokens: count,
  image_tokens: count,
  cost_ticks: integer(0, sandboxLimits.sandboxCostTicksMax), // Responses of the profile xai: 1 USD is 10^10 of them.
}

type Name = keyof typeof rules

/** Counts of chunks, bytes and tokens, and milliseconds where the name has the unit. */
export type Directives = ValuesOf<typeof rules>

export const noDirectives: Directives = Object.freeze({})

const failing: readonly Name[] = ['status', 'error_200', 'stream_error', 'failed']
const faults: readonly Name[] = [
  ...failing,
  ...(['html', 'not_json', 'break_after', 'hang', 'hang_after'] as const),
  ...(['delay_ms', 'first_chunk_delay_ms', 'chunk_delay_ms'] as const),
]

/** A directive that shapes a failure has no effect where nothing fails. */
const needs: { readonly [N in Name]?: readonly Name[] } = {
  retry_after: ['status'],
  error_code: failing,
  error_message: failing,
  leak: failing,
  first: faults,
}

const assertMeaningful = (directives: Directives): void => {
  for (const [name, others] of Object.entries(needs))
    if (Object.hasOwn(directives, name) && !others.some((other) => Object.hasOwn(directives, other)))
      throw malformed(name, `it needs one of ${others.join(', ')}`)
}

export const plainModel = (model: string): string => {
  const at = model.indexOf(';')
  return at < 0 ? model : model.slice(0, at)
}

/**
 * Reads `key=value` entries, separated by `;`, after the first `;` of the model name; those of `override` win, one by
 * one. A flag needs no `=1`. Throws Refusal for anything malformed.
 */
export const parseDirectives = (model: string, override: unknown): Directives => {
  const at = model.indexOf(';')
  if (at < 0 && override === undefined) return noDirectives
  if (override !== undefined && typeof override !== 'string') throw malformed('metadata.sandbox', 'it must be a string')
  const directives = { ...readEntries(rules, at < 0 ? '' : model.slice(at + 1)), ...readEntries(rules, override ?? '') }
  assertMeaningful(directives)
  return Object.keys(directives).length === 0 ? noDirectives : directives
}

/** Used when `first` has run out: the shape and the figures, without any fault or delay. */
export const withoutFaults = (directives: Directives): Directives => {
  const gone: readonly string[] = [...faults, ...Object.keys(needs)]
  return Object.fromEntries(Object.entries(directives).filter(([name]) => !gone.includes(name)))
}
