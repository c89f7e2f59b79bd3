import type { JsonObject } from '../../src/encoding/json.ts'
import type { Fragment, Output } from '../answers/output.ts'
import { type Asked, doneEvent, type Part, type ReportedUsage } from '../http/dialect.ts'
import { audioDataOf, audioExpiry, audioIdOf, callIdOf, finishReasonOf, headOf, shownReasoning } from './head.ts'
import type { ChatRequest } from './request.ts'
import { chatUsageSoFar } from './usage.ts'

interface Writer {
  readonly head: string
  /** The usage member of a chunk that reports none: null where the caller asked for usage, else no member. */
  readonly noUsage: string
}

const usageMember = (writer: Writer, reported: ReportedUsage | null): string =>
  reported === null ? writer.noUsage : `,"usage":${JSON.stringify(reported.usage)}`

const chunk = (
  writer: Writer,
  choice: number,
  delta: JsonObject,
  finish: string | null,
  reported: ReportedUsage | null,
): Part => {
  const member = `{"index":${choice},"delta":${JSON.stringify(delta)},"logprobs":null,"finish_reason":${JSON.stringify(finish)}}`
  return { text: `data: ${writer.head},"choices":[${member}]${usageMember(writer, reported)}}\n\n`, reported }
}

const usageChunk = (writer: Writer, reported: ReportedUsage): Part => ({
  text: `data: ${writer.head},"choices":[]${usageMember(writer, reported)}}\n\n`,
  reported,
})

const deltaOf = (asked: Asked, choice: number, fragment: Fragment): JsonObject => {
  switch (fragment.type) {
    case 'content':
      return { content: fragment.text }
    case 'refusal':
      return { refusal: fragment.text }
    case 'transcript':
      return { audio: { id: audioIdOf(asked, choice), transcript: fragment.text, data: audioDataOf(1) } }
    case 'call': {
      const { index, name } = fragment
      return {
        tool_calls: [
          { index, id: callIdOf(asked, choice, index), type: 'function', function: { name, arguments: '' } },
        ],
      }
    }
    case 'arguments':
      return { tool_calls: [{ index: fragment.index, function: { arguments: fragment.text } }] }
  }
}

const roleDelta = (asked: Asked, request: ChatRequest): JsonObject => ({
  role: 'assistant',
  content: request.calls.length > 0 || request.audio || asked.directives.refusal ? null : '',
  refusal: null,
})

interface UsageReports {
  readonly whole: ReportedUsage | null
  /** On every chunk with a choice, cumulative. */
  readonly everywhere: boolean
  /** On the last chunk with a choice, in place of a chunk of its own. */
  readonly withLastChoice: boolean
}

const usageReportsOf = (asked: Asked, request: ChatRequest, reported: ReportedUsage | null): UsageReports => {
  const whole = request.includeUsage ? reported : null
  const everywhere = asked.directives.profile === 'gemini'
  return { whole, everywhere, withLastChoice: everywhere || asked.directives.usage_with_choices === true }
}

function* choiceParts(
  asked: Asked,
  request: ChatRequest,
  output: Output,
  choice: number,
  writer: Writer,
  reports: UsageReports,
): Iterable<Part> {
  const before = choice * output.fragments.length
  const reportedAfter = (fragments: number): ReportedUsage | null =>
    reports.everywhere && reports.whole !== null
      ? chatUsageSoFar(reports.whole, before + fragments, asked.directives)
      : null
  yield chunk(writer, choice, roleDelta(asked, request), null, reportedAfter(0))
  for (const text of shownReasoning(asked, output))
    yield chunk(writer, choice, { reasoning_content: text }, null, reportedAfter(0))
  for (const [index, fragment] of output.fragments.entries())
    yield chunk(writer, choice, deltaOf(asked, choice, fragment), null, reportedAfter(index + 1))
  if (request.audio && request.calls.length === 0) {
    const audio = { id: audioIdOf(asked, choice), expires_at: audioExpiry(asked) }
    yield chunk(writer, choice, { audio }, null, reportedAfter(output.fragments.length))
  }
  const last = reports.withLastChoice && choice === request.choices - 1
  const reported = last ? reports.whole : reportedAfter(output.fragments.length)
  yield chunk(writer, choice, {}, finishReasonOf(asked, output), reported)
}

const writerOf = (asked: Asked, request: ChatRequest): Writer => ({
  head: JSON.stringify(headOf(asked, request, 'chat.completion.chunk')).slice(0, -1),
  noUsage: request.includeUsage && !asked.directives.no_usage ? ',"usage":null' : '',
})

export function* streamChatParts(
  asked: Asked,
  request: ChatRequest,
  output: Output,
  reported: ReportedUsage | null,
): Iterable<Part> {
  const writer = writerOf(asked, request)
  const reports = usageReportsOf(asked, request, reported)
  for (let choice = 0; choice < request.choices; choice += 1)
    yield* choiceParts(asked, request, output, choice, writer, reports)
  if (reports.whole !== null && !reports.withLastChoice) yield usageChunk(writer, reports.whole)
  if (!asked.directives.no_done) yield doneEvent
}
