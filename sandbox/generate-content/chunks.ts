import { Buffer } from 'node:buffer'
import { asObject, type JsonObject, parseJson } from '../../src/encoding/json.ts'
import { callsOf, type Output, textTokensOf } from '../answers/output.ts'
import { queryOf, sourceOf } from '../answers/searching.ts'
import { signatureOf } from '../answers/signature.ts'
import type { Asked, ReportedUsage } from '../http/dialect.ts'
import type { ContentRequest } from './request.ts'
import { generateContentUsageSoFar, usageOfPrompt } from './usage.ts'

export interface Chunk {
  readonly value: JsonObject
  readonly reported: ReportedUsage | null
}

interface Piece {
  readonly part: JsonObject
  readonly tokens: number
}

/** Only the first of several calls is signed. */
const callPart = (name: string, json: string, index: number): JsonObject => ({
  functionCall: { name, args: asObject(parseJson(json)) },
  ...(index === 0 ? { thoughtSignature: signatureOf(name) } : {}),
})

const piecesOf = (request: ContentRequest, output: Output): readonly Piece[] => {
  const thoughts = request.showsThoughts ? output.reasoningText : []
  const texts = textTokensOf(output)
  const calls = callsOf(output)
  return [
    ...thoughts.map((text) => ({ part: { text, thought: true }, tokens: 0 })),
    ...texts.map((text, index) => ({ part: { text }, tokens: index + 1 })),
    ...calls.map(({ name, pieces }, index) => ({
      part: callPart(name, pieces.join(''), index),
      tokens: output.fragments.length,
    })),
  ]
}

const finishReasons = { stop: 'STOP', length: 'MAX_TOKENS', tool_calls: 'STOP' } as const

const finishReasonOf = ({ directives }: Asked, output: Output): string =>
  directives.finish_reason ?? finishReasons[output.finishReason]

/** Offsets in the text are in bytes; an offset of 0 is left out. */
const supportsOf = (text: string, searches: number): readonly JsonObject[] =>
  text === ''
    ? []
    : [
        {
          segment: { endIndex: Buffer.byteLength(text), text },
          groundingChunkIndices: Array.from({ length: searches }, (_, index) => index),
        },
      ]

const groundingOf = (request: ContentRequest, output: Output): JsonObject => {
  const indices = Array.from({ length: request.searches }, (_, index) => index)
  const sources = indices.map(sourceOf)
  return {
    webSearchQueries: indices.map((index) => queryOf(request.userText, index)),
    searchEntryPoint: { renderedContent: '<div>The sandbox has searched.</div>' },
    groundingChunks: sources.map(({ url, title }) => ({ web: { uri: url, title } })),
    groundingSupports: supportsOf(textTokensOf(output).join(''), request.searches),
  }
}

const headOf = (asked: Asked): JsonObject => ({ modelVersion: asked.model, responseId: asked.id.replaceAll('-', '') })

const chunkOf = (asked: Asked, members: JsonObject, reported: ReportedUsage | null): Chunk => ({
  value: { ...members, ...(reported === null ? {} : { usageMetadata: reported.usage }), ...headOf(asked) },
  reported,
})

const candidateOf = (parts: readonly JsonObject[], ending: JsonObject): JsonObject => ({
  candidates: [{ content: { ...(parts.length > 0 ? { parts } : {}), role: 'model' }, ...ending, index: 0 }],
})

const endingOf = (asked: Asked, request: ContentRequest, output: Output): JsonObject => ({
  finishReason: finishReasonOf(asked, output),
  ...(request.searches > 0 ? { groundingMetadata: groundingOf(request, output) } : {}),
})

export const blockedChunk = (asked: Asked, reason: string, reported: ReportedUsage | null): Chunk => {
  const promptFeedback = { blockReason: reason, safetyRatings: [] }
  return chunkOf(asked, { promptFeedback }, reported === null ? null : usageOfPrompt(reported, asked.directives))
}

const merged = (parts: readonly JsonObject[]): readonly JsonObject[] => {
  const whole: JsonObject[] = []
  for (const part of parts) {
    const last = whole.at(-1)
    const goesOn = last !== undefined && 'text' in last && 'text' in part && last['thought'] === part['thought']
    if (goesOn) whole.splice(-1, 1, { ...last, text: `${last['text']}${part['text']}` })
    else whole.push(part)
  }
  return whole
}

export const wholeChunk = (
  asked: Asked,
  request: ContentRequest,
  output: Output,
  reported: ReportedUsage | null,
): Chunk => {
  const parts = merged(piecesOf(request, output).map(({ part }) => part))
  return chunkOf(asked, candidateOf(parts, endingOf(asked, request, output)), reported)
}

/** The answer part by part; each chunk reports the usage up to it, and the last one the finish reason. */
export function* chunksOf(
  asked: Asked,
  request: ContentRequest,
  output: Output,
  reported: ReportedUsage | null,
): Iterable<Chunk> {
  const pieces = piecesOf(request, output)
  for (const { part, tokens } of pieces.slice(0, -1)) {
    const sofar = reported === null ? null : generateContentUsageSoFar(reported, tokens, asked.directives)
    yield chunkOf(asked, candidateOf([part], {}), sofar)
  }
  const last = pieces.slice(-1).map(({ part }) => part)
  yield chunkOf(asked, candidateOf(last, endingOf(asked, request, output)), reported)
}
