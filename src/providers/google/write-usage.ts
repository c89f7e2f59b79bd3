import type { Usage } from '../../domain/usage/usage.ts'
import type { JsonObject } from '../../encoding/json.ts'

const details = (tokens: { readonly [modality: string]: number }): readonly JsonObject[] =>
  Object.entries(tokens)
    .filter(([, tokenCount]) => tokenCount > 0)
    .map(([modality, tokenCount]) => ({ modality, tokenCount }))

/** `usageMetadata` with all its members. What tools read is part of the prompt. */
export const usageMetadataOf = (usage: Usage): JsonObject => {
  const { promptTotal, cacheRead, cacheReadAudio = 0, cacheReadImage = 0, outputTotal, outputReasoning } = usage
  const [audio, image] = [usage.inputAudio + cacheReadAudio, usage.inputImage + cacheReadImage]
  const { outputAudio, outputImage } = usage
  const candidates = outputTotal - outputReasoning
  return {
    promptTokenCount: promptTotal,
    candidatesTokenCount: candidates,
    totalTokenCount: promptTotal + outputTotal,
    cachedContentTokenCount: cacheRead,
    thoughtsTokenCount: outputReasoning,
    toolUsePromptTokenCount: 0,
    promptTokensDetails: details({ TEXT: promptTotal - audio - image, AUDIO: audio, IMAGE: image }),
    candidatesTokensDetails: details({
      TEXT: candidates - outputAudio - outputImage,
      AUDIO: outputAudio,
      IMAGE: outputImage,
    }),
    cacheTokensDetails: details({
      TEXT: cacheRead - cacheReadAudio - cacheReadImage,
      AUDIO: cacheReadAudio,
      IMAGE: cacheReadImage,
    }),
  }
}
