import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { problemsOfChatChunk, problemsOfChatResponse } from '../../reference/contract.ts'
import { problemsOfGenerateContent } from '../../reference/gemini-contract.ts'
import { problemsOfResponse, problemsOfResponsesEvent } from '../../reference/responses-contract.ts'
import { createTypeProgram } from '../../support/type-program.ts'
import type { Surface } from './targets.ts'

type Problems = (json: JsonObject) => readonly string[]

/** Those of messages are read by the types of the SDK, all at once. */
const laterByTypes: Problems = () => []

export const problemsOfAnswer: { readonly [S in Surface]: Problems } = {
  chat: problemsOfChatResponse,
  messages: laterByTypes,
  responses: problemsOfResponse,
  gemini: problemsOfGenerateContent,
}

export const problemsOfEvent: { readonly [S in Surface]: Problems } = {
  chat: problemsOfChatChunk,
  messages: laterByTypes,
  responses: problemsOfResponsesEvent,
  gemini: problemsOfGenerateContent,
}

const fileName = fileURLToPath(new URL('sdk-messages.ts', import.meta.url))

/** Gemini needs it back with the call, and the SDKs return blocks unchanged. */
const signatureOfCall = /^"signature": "gw1:.* does not exist in type 'ToolUseBlock'/

/** As in the recorded answers of Anthropic: its types have null for what it leaves out. */
const noCitations =
  /Property 'citations' is missing in type '\{ type: "text"; text: string; \}' but required in type 'TextBlock'/

/** What the types of Anthropic's SDK find wrong, one text a problem. */
export const problemsOfMessages = (
  answers: readonly JsonObject[],
  events: readonly JsonObject[],
): readonly string[] => {
  const source = `
import type Anthropic from '@anthropic-ai/sdk'
export const answers: readonly Anthropic.Message[] = ${JSON.stringify(answers, null, 1)}
export const events: readonly Anthropic.RawMessageStreamEvent[] = ${JSON.stringify(events, null, 1)}
`
  const program = createTypeProgram(fileName, source)
  const lines = source.split('\n')
  const problems = program.getSemanticDiagnostics(program.getSourceFile(fileName))
  return problems
    .map(({ messageText, start = 0 }) => {
      const line = lines[source.slice(0, start).split('\n').length - 1] ?? ''
      return `${line.trim()}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
    })
    .filter((problem) => !signatureOfCall.test(problem) && !noCitations.test(problem))
}
