import type { JsonObject } from '../../encoding/json.ts'
import { finishSteps, flatMapInSteps } from '../../encoding/steps.ts'
import { checkMembers } from '../canonical/allowed-members.ts'
import type {
  AnswerFormat,
  Conversation,
  ConversationPart,
  ConversationTurn,
  ToolChoice,
  ToolResultPart,
} from '../canonical/conversation.ts'
import type { ReplyRequest } from '../canonical/format.ts'
import { outputLimit } from '../canonical/output-limit.ts'
import { unsupported } from '../canonical/refuse.ts'
import type { Target, UpstreamRequest } from '../dialect/dialect.ts'
import { providerLimits } from '../dialect/limits.ts'
import { namedModelOf, wantedEffort } from '../openai/effort.ts'
import { sharedMembers } from '../openai/read-conversation.ts'
import { fitMembers, postToOpenAI } from '../openai/request.ts'
import { refuseChargedMembers } from '../openai/usage.ts'
import { type ContentPart, documentText, isContent } from '../openai/write-conversation-parts.ts'
import { responsesMembers } from './allowed-members.ts'

type Items = readonly JsonObject[]

const dataUrl = ({ mediaType, base64 }: { readonly mediaType: string; readonly base64: string }): string =>
  `data:${mediaType};base64,${base64}`

const inputText = (text: string): JsonObject => ({ type: 'input_text', text })

const inputPart = (part: ContentPart): JsonObject => {
  switch (part.type) {
    case 'text':
      return inputText(part.text)
    case 'image':
      return {
        type: 'input_image',
        image_url: 'url' in part.source ? part.source.url : dataUrl(part.source),
        detail: part.detail ?? 'auto',
      }
    case 'document': {
      const { source, title } = part
      if ('text' in source) return inputText(documentText(title, source.text))
      if ('url' in source) return { type: 'input_file', file_url: source.url }
      return { type: 'input_file', filename: title ?? 'document.pdf', file_data: dataUrl(source) }
    }
    case 'audio':
      throw unsupported('messages', 'with audio is not available for this model')
  }
}

const resultItem = ({ toolCallId, parts }: ToolResultPart): JsonObject => ({
  type: 'function_call_output',
  call_id: toolCallId,
  output: parts.every(({ type }) => type === 'text')
    ? parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n\n')
    : parts.map(inputPart),
})

/** What the model encrypted comes back to it; a summary without that is of no use. */
const reasoningItem = (text: string, encrypted: string): JsonObject => ({
  type: 'reasoning',
  summary: text === '' ? [] : [{ type: 'summary_text', text }],
  encrypted_content: encrypted,
})

const answerItems = (part: ConversationPart): Items => {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [{ role: 'assistant', content: [{ type: 'output_text', text: part.text }] }]
    case 'tool_call':
      return [{ type: 'function_call', call_id: part.id, name: part.name, arguments: part.arguments }]
    case 'thinking':
      return part.signature === null ? [] : [reasoningItem(part.text, part.signature)]
    case 'redacted_thinking':
      return [reasoningItem('', part.data)]
    default:
      throw unsupported('messages', 'with media in an answer of the model is not available for this model')
  }
}

const turnItems = ({ role, parts }: ConversationTurn): Items => {
  if (role === 'assistant') return parts.flatMap(answerItems)
  const results = parts.filter((part): part is ToolResultPart => part.type === 'tool_result').map(resultItem)
  const content = parts.filter(isContent).map(inputPart)
  const message = { role: role === 'system' ? 'developer' : 'user', content }
  return content.length === 0 ? results : [...results, message]
}

const choiceOf = (choice: ToolChoice): unknown =>
  choice.type === 'tool' ? { type: 'function', name: choice.name } : choice.type

/** On this endpoint alone functions are strict by default. */
const toolsOf = ({ tools, toolChoice, parallelToolCalls }: Conversation): JsonObject => ({
  tools: tools.map(({ name, description, parameters, strict }) => ({
    type: 'function',
    name,
    ...(description === null ? {} : { description }),
    parameters: parameters ?? { type: 'object', properties: {} },
    strict: strict ?? false,
  })),
  ...(toolChoice === null ? {} : { tool_choice: choiceOf(toolChoice) }),
  ...(parallelToolCalls === null ? {} : { parallel_tool_calls: parallelToolCalls }),
})

const formatOf = (format: AnswerFormat): JsonObject => {
  switch (format.type) {
    case 'text':
      return {}
    case 'json':
      return { format: { type: 'json_object' } }
    case 'schema': {
      const { name, description, schema, strict } = format
      const described = description === null ? {} : { description }
      return { format: { type: 'json_schema', name, ...described, schema, strict: strict ?? false } }
    }
  }
}

const textOf = ({ format, openaiMembers = {} }: Conversation): JsonObject => {
  const { verbosity } = openaiMembers
  const text = { ...formatOf(format), ...(verbosity === undefined ? {} : { verbosity }) }
  return Object.keys(text).length === 0 ? {} : { text }
}

/** A member that this endpoint alone has is none of chat's: there it would be unknown, here it would be acted on. */
const carriedMembers = ({ openaiMembers = {} }: Conversation, target: Target): JsonObject => {
  const { verbosity: _written, ...members } = openaiMembers
  const carried = Object.fromEntries(
    Object.entries(members).filter(([name]) => sharedMembers.includes(name) || !responsesMembers.members.has(name)),
  )
  finishSteps(checkMembers(responsesMembers, carried, target.provider))
  refuseChargedMembers(target, carried)
  return carried
}

/** A model that reasons takes no `temperature` and no `top_p`. Nothing is stored at the provider. */
function* bodyOf(
  conversation: Conversation,
  target: Target,
  asking: ReplyRequest,
): Generator<void, Record<string, unknown>> {
  const { system, turns, outputTokensMax, reasoning, serviceTier, user } = conversation
  const limit = outputLimit(outputTokensMax, asking.outputCap)
  const effort = wantedEffort(reasoning, namedModelOf(target))
  const instructions = system.map(({ text }) => text).filter((text) => text !== '')
  const input = yield* flatMapInSteps(turns, turnItems)
  yield
  return {
    ...carriedMembers(conversation, target),
    model: target.upstreamModel,
    ...(instructions.length === 0 ? {} : { instructions: instructions.join('\n\n') }),
    input,
    ...toolsOf(conversation),
    ...(limit === undefined ? {} : { max_output_tokens: limit }),
    ...textOf(conversation),
    ...(effort === null ? {} : { reasoning: { effort } }),
    ...(serviceTier === null ? {} : { service_tier: serviceTier }),
    ...(user === null || user.length > providerLimits.userCharactersMax ? {} : { safety_identifier: user }),
    include: ['reasoning.encrypted_content'],
    store: false,
    stream: asking.stream,
  }
}

/** Throws `unsupported_parameter` for what the endpoint cannot be asked for. */
export function* writeResponsesConversation(
  conversation: Conversation,
  target: Target,
  asking: ReplyRequest,
): Generator<void, UpstreamRequest> {
  if (conversation.webSearch !== null) throw unsupported('tools', 'with web search is not available for this model')
  const draft = yield* bodyOf(conversation, target, asking)
  fitMembers(draft, target)
  return postToOpenAI(target.provider, '/responses', asking.stream, draft)
}
