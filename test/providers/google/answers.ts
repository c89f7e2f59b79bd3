import type { JsonObject } from '../../../src/encoding/json.ts'

/**
 * Answers as the API gives them: the shapes, the order of members and most figures are those of recordings that the tests of
 * Vercel's AI SDK hold (vercel/ai, packages/google/src/__fixtures__ and google-language-model.test.ts), with words and signatures of ours.
 */
const identity = { modelVersion: 'gemini-3.7-flash', responseId: 'WQuqavG5KbfUjMcPuP_n6QI' }

export const usageOf = (prompt: number, candidates: number, thoughts = 0): JsonObject => ({
  promptTokenCount: prompt,
  candidatesTokenCount: candidates,
  totalTokenCount: prompt + candidates + thoughts,
  promptTokensDetails: [{ modality: 'TEXT', tokenCount: prompt }],
  ...(thoughts === 0 ? {} : { thoughtsTokenCount: thoughts }),
  serviceTier: 'standard',
})

/** One answer, or one event of a stream. */
export const answerOf = (
  parts: readonly JsonObject[],
  finishReason: string | null = null,
  usage: JsonObject | null = null,
  more: JsonObject = {},
): JsonObject => ({
  candidates: [
    { content: { parts, role: 'model' }, ...(finishReason === null ? {} : { finishReason }), index: 0, ...more },
  ],
  ...(usage === null ? {} : { usageMetadata: usage }),
  ...identity,
})

export const blocked: JsonObject = {
  promptFeedback: { blockReason: 'PROHIBITED_CONTENT' },
  usageMetadata: {
    promptTokenCount: 9,
    totalTokenCount: 9,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: 9 }],
    serviceTier: 'standard',
  },
  ...identity,
}

/** Gemini signs the first of parallel calls alone. */
export const parallelCalls: readonly JsonObject[] = [
  { functionCall: { name: 'get_weather', args: { city: 'Paris' } }, thoughtSignature: 'c2lnbmVk' },
  { functionCall: { name: 'get_weather', args: { city: 'Tokyo' } } },
]

/** Offsets count bytes of UTF-8: the é makes the second segment begin at byte 26, character 25. */
export const groundedText = 'Spain beat England, olé. The final ended 2-1.'
export const groundingMetadata: JsonObject = {
  searchEntryPoint: { renderedContent: '<style></style>' },
  groundingChunks: [
    { web: { uri: 'https://vertexaisearch.example/grounding-api-redirect/a', title: 'aljazeera.com' } },
    { web: { uri: 'https://vertexaisearch.example/grounding-api-redirect/b' } },
  ],
  groundingSupports: [
    { segment: { endIndex: 25, text: 'Spain beat England, olé.' }, groundingChunkIndices: [0] },
    { segment: { startIndex: 26, endIndex: 46, text: 'The final ended 2-1.' }, groundingChunkIndices: [0, 1] },
  ],
  webSearchQueries: ['UEFA Euro 2024 winner', '', 'Spain vs England final score', 'UEFA Euro 2024 winner'],
}

/** `alt=sse`, as generativelanguage.googleapis.com writes it. */
export const streamOf = (...events: readonly JsonObject[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join('')
