import { signatureOf } from '../../../sandbox/answers/signature.ts'
import { checkGenerateContent } from '../../../sandbox/generate-content/check.ts'
import { asArray, asObject, asText, type JsonObject, parseJson } from '../../../src/encoding/json.ts'
import { type Asked, type Counted, piecesOf, type Reply } from '../script.ts'
import type { Format, Received } from './format.ts'

const method = /^\/v1beta\/models\/(.+):(generateContent|streamGenerateContent\?alt=sse)$/

const readAsked = ({ contents, tools }: JsonObject): Asked => {
  const { parts } = asObject(asArray(contents).findLast((each) => asObject(each)['role'] === 'user'))
  const result = asArray(parts)
    .map((part) => asObject(part)['functionResponse'])
    .findLast((response) => response !== undefined)
  const declarations = asArray(tools).flatMap((tool) => asArray(asObject(tool)['functionDeclarations']))
  return {
    tools: declarations.map((each) => asText(asObject(each)['name'])),
    said:
      result === undefined
        ? asArray(parts)
            .map((part) => asText(asObject(part)['text']))
            .join('\n')
        : Object.values(asObject(asObject(result)['response']))
            .map(asText)
            .join('\n'),
    isResult: result !== undefined,
  }
}

const usageOf = ({ prompt, output }: Counted) => ({
  promptTokenCount: prompt,
  candidatesTokenCount: output,
  totalTokenCount: prompt + output,
})

const partsOf = (reply: Reply): readonly JsonObject[] =>
  'content' in reply
    ? piecesOf(reply.content).map((text) => ({ text }))
    : [
        {
          functionCall: { name: reply.call.name, args: parseJson(reply.call.arguments) },
          thoughtSignature: signatureOf(reply.call.name),
        },
      ]

const modelIn = ({ path }: Received): string => decodeURIComponent(method.exec(path)?.[1] ?? '')

const answerOf = (parts: readonly JsonObject[], isLast: boolean): JsonObject => ({
  candidates: [{ content: { parts, role: 'model' }, ...(isLast ? { finishReason: 'STOP' } : {}), index: 0 }],
})

export const gemini: Format = {
  path: method,
  check: (received) => checkGenerateContent(received.body, modelIn(received)),
  isStream: ({ path }) => path.endsWith('?alt=sse'),
  readAsked,
  whole: (received, reply, counted, id) => ({
    ...answerOf('content' in reply ? [{ text: reply.content }] : partsOf(reply), true),
    usageMetadata: usageOf(counted),
    modelVersion: modelIn(received),
    responseId: id,
  }),
  events: (received, reply, counted, id) => {
    const parts = partsOf(reply)
    return parts.map((part, index) => {
      const isLast = index === parts.length - 1
      const output = isLast ? counted.output : 1
      return {
        ...answerOf([part], isLast),
        usageMetadata: usageOf({ ...counted, output }),
        modelVersion: modelIn(received),
        responseId: id,
      }
    })
  },
}
