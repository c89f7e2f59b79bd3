import type { UsageBounds } from '../../../../domain/pricing/worst-case.ts'
import { asArray, asObject, asText, isObject } from '../../../../encoding/json.ts'
import { toolCallsMaxOf } from '../../../../providers/openai-responses/tools.ts'
import {
  builtInSearch,
  encodedAudio,
  encodedImage,
  linkedImage,
  type Media,
  noMedia,
  sumOfMedia,
  unmeasured,
  webSearches,
} from '../inference/media.ts'
import type { ResponsesRequest } from './request.types.ts'

const mediaOfPart = (part: unknown): Media => {
  const { type, image_url, input_audio } = asObject(part)
  switch (type) {
    case 'input_image':
    case 'computer_screenshot':
      return linkedImage(asText(image_url))
    case 'input_audio':
      return encodedAudio(asText(asObject(input_audio)['data']))
    case 'input_file':
      return unmeasured
    default:
      return noMedia
  }
}

const partsOf = (value: unknown): readonly unknown[] => (isObject(value) ? [value] : asArray(value))

const mediaOfItem = (item: unknown): Media => {
  const { type, content, output, result } = asObject(item)
  if (type === 'image_generation_call') return encodedImage(asText(result))
  return sumOfMedia([...partsOf(content), ...partsOf(output)].map(mediaOfPart))
}

/** What the provider fetches for the model has no bound that we know. */
const readsElsewhere = ({ previous_response_id: previous, tools }: ResponsesRequest): boolean =>
  typeof previous === 'string' || asArray(tools).some((tool) => asObject(tool)['type'] === 'mcp')

/** Not text for the model: the image tool reads it. */
const maskOf = (tool: unknown): Media => {
  const { type, input_image_mask: mask } = asObject(tool)
  return type === 'image_generation' && isObject(mask) ? linkedImage(asText(mask['image_url'])) : noMedia
}

/** Under each name that the provider of a translated answer charges its searches by. */
const searchesElsewhere = (calls: UsageBounds['toolCallsMax']): UsageBounds['toolCallsMax'] => {
  const searches = Object.entries(calls).flatMap(([item, most]) => (item.startsWith('web_search') ? [most] : []))
  return { ...builtInSearch(), ...(searches.length === 0 ? {} : webSearches(Math.max(...searches))) }
}

/** `isBoundObeyed`: every candidate observes `max_tool_calls`. */
export const boundResponsesUsage = (
  request: ResponsesRequest,
  bodyBytes: number,
  isBoundObeyed: boolean,
): UsageBounds => {
  const media = sumOfMedia([...asArray(request.input).map(mediaOfItem), ...asArray(request.tools).map(maskOf)])
  const calls = toolCallsMaxOf(request, isBoundObeyed)
  return {
    inputTokensMax: bodyBytes - media.bytes + media.tokensMax,
    unmeasured: media.unmeasured || readsElsewhere(request),
    outputTokensMax: request.max_output_tokens ?? null,
    choices: 1,
    audio: media.audio,
    image: media.image,
    ...(typeof request.service_tier === 'string' ? { serviceTier: request.service_tier } : {}),
    toolCallsMax: { ...searchesElsewhere(calls), ...calls },
  }
}
