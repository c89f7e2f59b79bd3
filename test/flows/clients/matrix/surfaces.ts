import type Anthropic from '@anthropic-ai/sdk'
import type { Content, GenerateContentResponse, GoogleGenAI, Part } from '@google/genai'
import type OpenAI from 'openai'

export interface Ask {
  readonly model: string
  /** Absent: the history goes on with what it ends with, such as the results of calls. */
  readonly text?: string
  /** What was said before, in the surface's own form. */
  readonly history?: readonly unknown[]
  readonly tools?: boolean
  readonly image?: boolean
  readonly schema?: boolean
  readonly effort?: boolean
}

export interface Answered {
  readonly text: string
  readonly calls: number
  /** The whole conversation so far; calls have their results. */
  readonly history: readonly unknown[]
}

export interface SurfaceClient {
  whole(ask: Ask): Promise<Answered>
  stream(ask: Ask): Promise<string>
  /** Leaves a stream after its first text. */
  abort(ask: Ask): Promise<void>
}

const parameters = {
  type: 'object' as const,
  properties: { place: { type: 'string' } },
  required: ['place'],
  additionalProperties: false,
}
const pixel = 'iVBORw0KGgo='

export const chatSurface = (client: OpenAI): SurfaceClient => {
  const bodyOf = ({ model, text, history = [], tools, image, schema, effort }: Ask) => {
    const content = image
      ? [
          { type: 'text', text },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
        ]
      : text
    return {
      model,
      messages: [
        ...history,
        ...(text === undefined ? [] : [{ role: 'user', content }]),
      ] as OpenAI.ChatCompletionMessageParam[],
      ...(tools ? { tools: [{ type: 'function' as const, function: { name: 'weather', parameters } }] } : {}),
      ...(schema
        ? { response_format: { type: 'json_schema' as const, json_schema: { name: 'place', schema: parameters } } }
        : {}),
      ...(effort ? { reasoning_effort: 'low' as const } : {}),
    }
  }
  return {
    whole: async (ask) => {
      const body = bodyOf(ask)
      const { choices } = await client.chat.completions.create(body)
      const message = choices[0]!.message
      const calls = message.tool_calls ?? []
      const results = calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'sunny' }))
      return { text: message.content ?? '', calls: calls.length, history: [...body.messages, message, ...results] }
    },
    stream: async (ask) => {
      let text = ''
      for await (const { choices } of await client.chat.completions.create({ ...bodyOf(ask), stream: true }))
        text += choices[0]?.delta.content ?? ''
      return text
    },
    abort: async (ask) => {
      for await (const { choices } of await client.chat.completions.create({ ...bodyOf(ask), stream: true }))
        if (choices[0]?.delta.content) break
    },
  }
}

const textOf = ({ content }: Anthropic.Message): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('')

export const messagesSurface = (client: Anthropic): SurfaceClient => {
  const bodyOf = ({ model, text, history = [], tools, image, schema, effort }: Ask) => {
    const content: Anthropic.ContentBlockParam[] = [{ type: 'text', text: text ?? '' }]
    if (image) content.push({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } })
    const question = text === undefined ? [] : [{ role: 'user', content }]
    return {
      model,
      max_tokens: 4_000,
      messages: [...history, ...question] as Anthropic.MessageParam[],
      ...(tools ? { tools: [{ name: 'weather', input_schema: parameters }] } : {}),
      ...(schema ? { output_config: { format: { type: 'json_schema' as const, schema: parameters } } } : {}),
      ...(effort ? { thinking: { type: 'enabled' as const, budget_tokens: 1_024 } } : {}),
    }
  }
  return {
    whole: async (ask) => {
      const body = bodyOf(ask)
      const message = await client.messages.create(body)
      const calls = message.content.filter((block) => block.type === 'tool_use')
      const results = calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'sunny' }))
      const answered = { role: 'assistant', content: message.content }
      const after = results.length === 0 ? [] : [{ role: 'user', content: results }]
      return { text: textOf(message), calls: calls.length, history: [...body.messages, answered, ...after] }
    },
    stream: async (ask) => textOf(await client.messages.stream(bodyOf(ask)).finalMessage()),
    abort: async (ask) => {
      for await (const event of await client.messages.create({ ...bodyOf(ask), stream: true }))
        if (event.type === 'content_block_delta') break
    },
  }
}

export const responsesSurface = (client: OpenAI): SurfaceClient => {
  const bodyOf = ({ model, text, history = [], tools, image, schema, effort }: Ask) => {
    const content: unknown[] = [{ type: 'input_text', text }]
    if (image) content.push({ type: 'input_image', image_url: `data:image/png;base64,${pixel}`, detail: 'auto' })
    const format = { type: 'json_schema' as const, name: 'place', schema: parameters, strict: true }
    return {
      model,
      store: false,
      include: ['reasoning.encrypted_content' as const],
      input: [...history, ...(text === undefined ? [] : [{ role: 'user', content }])] as OpenAI.Responses.ResponseInput,
      ...(tools ? { tools: [{ type: 'function' as const, name: 'weather', parameters, strict: true }] } : {}),
      ...(schema ? { text: { format } } : {}),
      ...(effort ? { reasoning: { effort: 'low' as const } } : {}),
    }
  }
  return {
    whole: async (ask) => {
      const body = bodyOf(ask)
      const { output, output_text: text } = await client.responses.create(body)
      const calls = output.filter((item) => item.type === 'function_call')
      const results = calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'sunny' }))
      return { text, calls: calls.length, history: [...body.input, ...output, ...results] }
    },
    stream: async (ask) => {
      let text = ''
      for await (const event of await client.responses.create({ ...bodyOf(ask), stream: true }))
        if (event.type === 'response.output_text.delta') text += event.delta
      return text
    },
    abort: async (ask) => {
      for await (const { type } of await client.responses.create({ ...bodyOf(ask), stream: true }))
        if (type === 'response.output_text.delta') break
    },
  }
}

const partsOf = ({ candidates }: GenerateContentResponse): readonly Part[] => candidates?.[0]?.content?.parts ?? []

const spokenIn = (parts: readonly Part[]): string =>
  parts.map(({ text = '', thought }) => (thought === true ? '' : text)).join('')

export const geminiSurface = ({ models }: GoogleGenAI): SurfaceClient => {
  const bodyOf = ({ model, text, history = [], tools, image, schema, effort }: Ask) => {
    const question: Part[] = [{ text: text ?? '' }]
    if (image) question.push({ inlineData: { mimeType: 'image/png', data: pixel } })
    return {
      model,
      contents: [...history, ...(text === undefined ? [] : [{ role: 'user', parts: question }])] as Content[],
      config: {
        ...(tools
          ? { tools: [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: parameters }] }] }
          : {}),
        ...(schema ? { responseMimeType: 'application/json', responseJsonSchema: parameters } : {}),
        ...(effort ? { thinkingConfig: { thinkingBudget: 1_024, includeThoughts: true } } : {}),
      },
    }
  }
  return {
    whole: async (ask) => {
      const body = bodyOf(ask)
      const parts = partsOf(await models.generateContent(body))
      const calls = parts.flatMap(({ functionCall }) => functionCall ?? [])
      const results = calls.map(({ id, name }) => ({
        functionResponse: { ...(id === undefined ? {} : { id }), name, response: { output: 'sunny' } },
      }))
      const after = results.length === 0 ? [] : [{ role: 'user', parts: results }]
      const history = [...body.contents, { role: 'model', parts }, ...after]
      return { text: spokenIn(parts), calls: calls.length, history }
    },
    stream: async (ask) => {
      let text = ''
      for await (const chunk of await models.generateContentStream(bodyOf(ask))) text += spokenIn(partsOf(chunk))
      return text
    },
    abort: async (ask) => {
      for await (const chunk of await models.generateContentStream(bodyOf(ask)))
        if (spokenIn(partsOf(chunk)) !== '') break
    },
  }
}
