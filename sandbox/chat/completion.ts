import type { JsonObject } from '../../src/encoding/json.ts'
import type { Output } from '../answers/output.ts'
import type { Asked, ReportedUsage } from '../http/dialect.ts'
import { audioDataOf, audioExpiry, audioIdOf, callIdOf, finishReasonOf, headOf, shownReasoning } from './head.ts'
import type { ChatRequest } from './request.ts'

const joined = (output: Output, type: 'content' | 'refusal' | 'transcript'): string => {
  let text = ''
  for (const fragment of output.fragments) if (fragment.type === type) text += fragment.text
  return text
}

const argumentsOf = (output: Output, index: number): string => {
  let text = ''
  for (const fragment of output.fragments)
    if (fragment.type === 'arguments' && fragment.index === index) text += fragment.text
  return text
}

const toolCalls = (asked: Asked, output: Output, choice: number): readonly JsonObject[] =>
  output.fragments.flatMap((fragment) => {
    if (fragment.type !== 'call') return []
    const { index, name } = fragment
    const called = { name, arguments: argumentsOf(output, index) }
    return [{ id: callIdOf(asked, choice, index), type: 'function', function: called }]
  })

const audioOf = (asked: Asked, output: Output, choice: number): JsonObject => ({
  id: audioIdOf(asked, choice),
  expires_at: audioExpiry(asked),
  data: audioDataOf(output.fragments.length),
  transcript: joined(output, 'transcript'),
})

const messageOf = (asked: Asked, request: ChatRequest, output: Output, choice: number): JsonObject => {
  const calls = request.calls.length === 0 ? [] : toolCalls(asked, output, choice)
  const isAudio = request.calls.length === 0 && request.audio
  const refusal = joined(output, 'refusal')
  const reasoning = shownReasoning(asked, output)
  return {
    role: 'assistant',
    content: request.calls.length > 0 || isAudio || refusal !== '' ? null : joined(output, 'content'),
    refusal: refusal === '' ? null : refusal,
    annotations: [],
    ...(reasoning.length > 0 ? { reasoning_content: reasoning.join('') } : {}),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...(isAudio ? { audio: audioOf(asked, output, choice) } : {}),
  }
}

export const completionText = (
  asked: Asked,
  request: ChatRequest,
  output: Output,
  reported: ReportedUsage | null,
): string => {
  const choices = Array.from({ length: request.choices }, (_, index) => ({
    index,
    message: messageOf(asked, request, output, index),
    logprobs: null,
    finish_reason: finishReasonOf(asked, output),
  }))
  const usage = reported === null ? {} : { usage: reported.usage }
  return JSON.stringify({ ...headOf(asked, request, 'chat.completion'), choices, ...usage })
}
