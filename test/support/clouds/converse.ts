import { EventStreamCodec } from '@smithy/core/event-streams'
import { asArray, asObject, asText, isObject, type JsonObject, parseJson } from '../../../src/encoding/json.ts'

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString(),
  (text) => Buffer.from(text),
)

export const frame = (type: 'event' | 'exception', name: string, payload: object): Buffer =>
  Buffer.from(
    codec.encode({
      headers: {
        [`:${type}-type`]: { type: 'string', value: name },
        ':content-type': { type: 'string', value: 'application/json' },
        ':message-type': { type: 'string', value: type },
      },
      body: Buffer.from(JSON.stringify(payload)),
    }),
  )

/** The events of Anthropic's stream. */
export async function* eventsOf(chunks: AsyncIterable<Uint8Array>): AsyncIterable<JsonObject> {
  let text = ''
  for await (const chunk of chunks) {
    text += Buffer.from(chunk).toString()
    const events = text.split('\n\n')
    text = events.pop() ?? ''
    for (const event of events) yield asObject(parseJson(event.slice(event.indexOf('data: ') + 6)))
  }
}

/** What makes Bedrock answer with a ValidationException. */
class Malformed extends Error {}

const malformed = (message: string): never => {
  throw new Malformed(message)
}

const assertMembers = (value: JsonObject, known: readonly string[]): void => {
  const unknown = Object.keys(value).find((member) => !known.includes(member))
  if (unknown !== undefined) malformed(`extraneous key [${unknown}] is not permitted`)
}

const readSource = (value: unknown): string => {
  const source = asObject(value)
  assertMembers(source, ['bytes'])
  return asText(source['bytes'])
}

type ReadBlock = (value: JsonObject) => JsonObject

const readImage: ReadBlock = ({ format, source }) => ({
  type: 'image',
  source: { type: 'base64', media_type: `image/${asText(format)}`, data: readSource(source) },
})

const readDocument: ReadBlock = ({ format, source, name }) => ({
  type: 'document',
  title: name,
  source:
    format === 'pdf'
      ? { type: 'base64', media_type: 'application/pdf', data: readSource(source) }
      : { type: 'text', media_type: 'text/plain', data: Buffer.from(readSource(source), 'base64').toString() },
})

const readToolUse: ReadBlock = ({ toolUseId, name, input }) =>
  isObject(input) ? { type: 'tool_use', id: toolUseId, name, input } : malformed('toolUse.input must be an object')

const readToolResult: ReadBlock = ({ toolUseId, content, status }) => ({
  type: 'tool_result',
  tool_use_id: toolUseId,
  content: blocksOf(content),
  ...(status === 'error' ? { is_error: true } : {}),
})

const readReasoning: ReadBlock = ({ reasoningText, redactedContent }) => {
  if (typeof redactedContent === 'string') return { type: 'redacted_thinking', data: redactedContent }
  const { text, signature } = asObject(reasoningText)
  return { type: 'thinking', thinking: text, signature }
}

const readers: { readonly [member: string]: ReadBlock } = {
  image: readImage,
  document: readDocument,
  toolUse: readToolUse,
  toolResult: readToolResult,
  reasoningContent: readReasoning,
}

const readBlock = (block: JsonObject): readonly JsonObject[] => {
  const [member = '', ...others] = Object.keys(block)
  if (others.length > 0) malformed('a content block has one member')
  if (member === 'cachePoint') return []
  if (member === 'text') return [{ type: 'text', text: block['text'] }]
  const read = readers[member]
  return read === undefined ? malformed(`extraneous key [${member}]`) : [read(asObject(block[member]))]
}

const blocksOf = (content: unknown): readonly JsonObject[] => asArray(content).map(asObject).flatMap(readBlock)

const usesTools = (messages: readonly JsonObject[]): boolean =>
  messages.some(({ content }) => asArray(content).some((block) => /tool/.test(asText(asObject(block)['type']))))

const toolsOf = (toolConfig: unknown): JsonObject => {
  const { tools, toolChoice, ...rest } = asObject(toolConfig)
  assertMembers(rest, [])
  const [choice = 'auto'] = Object.keys(asObject(toolChoice))
  const specs = asArray(tools).flatMap((tool) => asObject(tool)['toolSpec'] ?? [])
  return {
    tools: specs.map(asObject).map(({ name, description, inputSchema }) => ({
      name,
      ...(description === undefined ? {} : { description }),
      input_schema: asObject(inputSchema)['json'],
    })),
    tool_choice: choice === 'tool' ? { type: 'tool', ...asObject(asObject(toolChoice)['tool']) } : { type: choice },
  }
}

const formatOf = (outputConfig: unknown): JsonObject => {
  const { type, structure } = asObject(asObject(outputConfig)['textFormat'])
  if (type !== 'json_schema') return malformed('textFormat.type')
  const schema = parseJson(asText(asObject(asObject(structure)['jsonSchema'])['schema']))
  return { output_config: { format: { type: 'json_schema', schema } } }
}

const budgets: { readonly [effort: string]: number } = { low: 1_024, medium: 2_048 }

/** Nova's extended thinking. */
const thinkingOf = (fields: unknown): JsonObject => {
  const { reasoningConfig, ...rest } = asObject(fields)
  assertMembers(rest, [])
  const { type, maxReasoningEffort } = asObject(reasoningConfig)
  if (type !== 'enabled') return {}
  const budget = budgets[asText(maxReasoningEffort)]
  if (budget === undefined) return malformed('maxTokens must be unset with this maxReasoningEffort')
  return { thinking: { type: 'enabled', budget_tokens: budget } }
}

/** Only Anthropic's API demands that thinking goes on where it began; its sandbox then does not think. */
const lacksThinking = (messages: readonly JsonObject[]): boolean => {
  const content = asArray(messages.findLast(({ role }) => role === 'assistant')?.['content']).map(asObject)
  return content.some(({ type }) => type === 'tool_use') && !/thinking/.test(asText(content[0]?.['type']))
}

const members: readonly string[] = [
  ...['messages', 'system', 'inferenceConfig', 'toolConfig', 'outputConfig'],
  'additionalModelRequestFields',
]

/** As Anthropic's API has the same request; its fault as text where Bedrock refuses it. */
export const readConverse = (json: JsonObject): JsonObject | string => {
  try {
    assertMembers(json, members)
    const { system, inferenceConfig, toolConfig, outputConfig, additionalModelRequestFields: fields } = json
    const { maxTokens = 4_096, temperature, topP, stopSequences } = asObject(inferenceConfig)
    const messages = asArray(json['messages'])
      .map(asObject)
      .map(({ role, content }) => ({ role, content: blocksOf(content) }))
    if (toolConfig === undefined && usesTools(messages))
      malformed('The toolConfig field must be defined when using toolUse and toolResult content blocks.')
    return {
      messages,
      max_tokens: maxTokens,
      ...(system === undefined ? {} : { system: blocksOf(system) }),
      ...(temperature === undefined ? {} : { temperature }),
      ...(topP === undefined ? {} : { top_p: topP }),
      ...(stopSequences === undefined ? {} : { stop_sequences: stopSequences }),
      ...(toolConfig === undefined ? {} : toolsOf(toolConfig)),
      ...(outputConfig === undefined ? {} : formatOf(outputConfig)),
      ...(fields === undefined || lacksThinking(messages) ? {} : thinkingOf(fields)),
    }
  } catch (fault) {
    if (fault instanceof Malformed) return `Malformed input request: ${fault.message}`
    throw fault
  }
}

const writeUsage = (usage: JsonObject): JsonObject => {
  const [inputTokens, outputTokens] = [Number(usage['input_tokens']), Number(usage['output_tokens'])]
  const cacheReadInputTokens = Number(usage['cache_read_input_tokens'] ?? 0)
  const cacheWriteInputTokens = Number(usage['cache_creation_input_tokens'] ?? 0)
  const totalTokens = inputTokens + outputTokens + cacheReadInputTokens + cacheWriteInputTokens
  return { inputTokens, outputTokens, cacheReadInputTokens, cacheWriteInputTokens, totalTokens }
}

const writeBlock = (block: JsonObject): JsonObject => {
  const { type, id, name, input, text, thinking, signature, data } = block
  if (type === 'tool_use') return { toolUse: { toolUseId: id, name, input } }
  if (type === 'thinking') return { reasoningContent: { reasoningText: { text: thinking, signature } } }
  return type === 'redacted_thinking' ? { reasoningContent: { redactedContent: data } } : { text }
}

export async function* converseAnswer(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const chunk of chunks) pieces.push(chunk)
  const { content, stop_reason: stopReason, usage } = asObject(parseJson(Buffer.concat(pieces).toString()))
  const message = { role: 'assistant', content: asArray(content).map(asObject).map(writeBlock) }
  const answer = { output: { message }, stopReason, usage: writeUsage(asObject(usage)), metrics: { latencyMs: 1 } }
  yield Buffer.from(JSON.stringify(answer))
}

const writeDelta = ({ type, text, partial_json: input, thinking, signature }: JsonObject): JsonObject => {
  if (type === 'input_json_delta') return { toolUse: { input } }
  if (type === 'thinking_delta') return { reasoningContent: { text: thinking } }
  return type === 'signature_delta' ? { reasoningContent: { signature } } : { text }
}

const writeStart = (contentBlockIndex: unknown, block: JsonObject): readonly Buffer[] => {
  const { type, id, name, data } = block
  if (type === 'tool_use')
    return [frame('event', 'contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId: id, name } } })]
  if (type !== 'redacted_thinking') return []
  const delta = { reasoningContent: { redactedContent: data } }
  return [frame('event', 'contentBlockDelta', { contentBlockIndex, delta })]
}

export async function* converseFrames(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Buffer> {
  let usage: JsonObject = {}
  let stopReason = ''
  for await (const event of eventsOf(chunks)) {
    const { type, index: contentBlockIndex } = event
    const delta = asObject(event['delta'])
    if (type === 'message_start') {
      usage = asObject(asObject(event['message'])['usage'])
      yield frame('event', 'messageStart', { role: 'assistant' })
    }
    if (type === 'content_block_start') yield* writeStart(contentBlockIndex, asObject(event['content_block']))
    if (type === 'content_block_delta')
      yield frame('event', 'contentBlockDelta', { contentBlockIndex, delta: writeDelta(delta), p: 'a' })
    if (type === 'content_block_stop') yield frame('event', 'contentBlockStop', { contentBlockIndex })
    if (type === 'message_delta') {
      usage = { ...usage, ...asObject(event['usage']) }
      stopReason = asText(delta['stop_reason'])
    }
  }
  yield frame('event', 'messageStop', { stopReason })
  yield frame('event', 'metadata', { usage: writeUsage(usage), metrics: { latencyMs: 1 } })
}
