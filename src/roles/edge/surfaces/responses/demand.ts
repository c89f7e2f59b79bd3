import type { Demand } from '../../../../domain/pricing/worst-case.ts'
import { isObject, listOf, objectOf, textOf } from '../../../../json.ts'
import { toolCallsMaxOf } from '../../../../providers/openai-responses/tools.ts'
import { encodedAudio, encodedImage, linkedImage, type Media, noMedia, sumOfMedia, unmeasured } from '../media.ts'
import type { ResponsesRequest } from './request.types.ts'

const mediaOfPart = (part: unknown): Media => {
  const { type, image_url, input_audio } = objectOf(part)
  switch (type) {
    case 'input_image':
    case 'computer_screenshot':
      return linkedImage(textOf(image_url))
    case 'input_audio':
      return encodedAudio(textOf(objectOf(input_audio)['data']))
    case 'input_file':
      return unmeasured
    default:
      return noMedia
  }
}

const partsOf = (value: unknown): readonly unknown[] => (isObject(value) ? [value] : listOf(value))

const mediaOfItem = (item: unknown): Media => {
  const { type, content, output, result } = objectOf(item)
  if (type === 'image_generation_call') return encodedImage(textOf(result))
  return sumOfMedia([...partsOf(content), ...partsOf(output)].map(mediaOfPart))
}

/** What the provider reads for the model from elsewhere, without a bound that we know. */
const readsElsewhere = ({ previous_response_id: previous, tools }: ResponsesRequest): boolean =>
  typeof previous === 'string' || listOf(tools).some((tool) => objectOf(tool)['type'] === 'mcp')

/** No text for the model: the image tool reads it. */
const maskOf = (tool: unknown): Media => {
  const { type, input_image_mask: mask } = objectOf(tool)
  return type === 'image_generation' && isObject(mask) ? linkedImage(textOf(mask['image_url'])) : noMedia
}

/** The most a responses request can ask for. `isBoundObeyed`: whoever may serve it keeps to its `max_tool_calls`. */
export const demandOf = (request: ResponsesRequest, bodyBytes: number, isBoundObeyed: boolean): Demand => {
  const media = sumOfMedia([...listOf(request.input).map(mediaOfItem), ...listOf(request.tools).map(maskOf)])
  return {
    inputTokensMax: bodyBytes - media.bytes + media.tokensMax,
    unmeasured: media.unmeasured || readsElsewhere(request),
    outputTokensMax: request.max_output_tokens ?? null,
    choices: 1,
    audio: media.audio,
    image: media.image,
    toolCallsMax: toolCallsMaxOf(request, isBoundObeyed),
  }
}
