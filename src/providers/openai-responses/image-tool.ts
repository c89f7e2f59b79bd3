import type { Usage } from '../../domain/usage/usage.ts'
import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import { providerLimits } from '../dialect/limits.ts'
import { countOf } from '../dialect/reported-usage.ts'

type ToolCalls = Usage['toolCalls']

export const imageCallType = 'image_generation_call'

/** OpenAI's newest image models have no published price for an image: a request that names none gets this one. */
const modelUnnamed = 'gpt-image-1.5'
const qualities = ['low', 'medium', 'high']
const sizes = ['1024x1024', '1536x1024', '1024x1536']

const isImageTool = ({ type }: JsonObject): boolean => type === 'image_generation'

const imageToolsOf = ({ tools }: JsonObject): readonly JsonObject[] => asArray(tools).map(asObject).filter(isImageTool)

const nameOf = ({ model }: JsonObject, what: string): string => `image_generation_${model ?? modelUnnamed}_${what}`

const chosen = (value: unknown, known: readonly string[]): readonly string[] =>
  value === undefined || value === null || value === 'auto' ? known : [asText(value)]

/** What an image can be billed as, the most expensive last. */
export const imageItems = (tool: JsonObject): readonly string[] =>
  chosen(tool['quality'], qualities).flatMap((quality) =>
    chosen(tool['size'], sizes).map((size) => nameOf(tool, `${quality}_${size}`)),
  )

/** The price of an image covers its making; what its model reads for it is charged by the token. */
const readings = ['input_text', 'cached_input_text', 'input_image', 'cached_input_image'] as const

type Reading = (typeof readings)[number] | 'output_text'

const itemOfReading = (tool: JsonObject, reading: Reading): string => nameOf(tool, `${reading}_tokens`)

export const imageInputItems = (tool: JsonObject): readonly string[] =>
  readings.map((reading) => itemOfReading(tool, reading))

const asCalls = (tool: JsonObject, tokens: { readonly [R in Reading]?: number }): ToolCalls =>
  Object.fromEntries(
    ([...readings, 'output_text'] as const)
      .map((reading) => [itemOfReading(tool, reading), tokens[reading] ?? 0] as const)
      .filter(([, count]) => count > 0),
  )

const figure = (figures: unknown, name: string): number => countOf(asObject(figures)[name]) ?? 0

const partsOf = (value: unknown): readonly unknown[] => (isObject(value) ? [value] : asArray(value))

const imageParts: readonly unknown[] = ['input_image', 'computer_screenshot']

const imagesOfItem = (item: unknown): number => {
  const { type, content, output } = asObject(item)
  if (type === imageCallType) return 1
  return [...partsOf(content), ...partsOf(output)].filter((part) => imageParts.includes(asObject(part)['type'])).length
}

const imagesGivenIn = ({ input }: JsonObject): number => {
  let images = 0
  for (const item of asArray(input)) {
    images += imagesOfItem(item)
    if (images >= providerLimits.imageToolImagesMax) return providerLimits.imageToolImagesMax
  }
  return images
}

const isFaithful = ({ input_fidelity: fidelity }: JsonObject): boolean =>
  fidelity !== undefined && fidelity !== null && fidelity !== 'low'

/** OpenAI's published count for the smallest image: a base, one tile, and what high fidelity adds for a square. */
const leastImageTokens = (tool: JsonObject): number => 65 + 129 + (isFaithful(tool) ? 4_160 : 0)

const charactersPerToken = 4

/** What the image tool of a request reads: kept without the request, which may be large. */
export class ImageReading {
  readonly #tool: JsonObject
  readonly #imagesGiven: number

  constructor(body: JsonObject) {
    const [tool] = imageToolsOf(body)
    const { model, input_fidelity } = tool ?? {}
    this.#tool = { model, input_fidelity }
    this.#imagesGiven = tool === undefined ? 0 : imagesGivenIn(body)
  }

  /** Null where `toolUsage` has no figures. Input of an unreported kind counts as images, the more expensive kind. */
  reported(toolUsage: unknown): ToolCalls | null {
    const reported = asObject(asObject(toolUsage)['image_gen'])
    const input = figure(reported, 'input_tokens')
    if (input === 0) return null
    const text = Math.min(input, figure(reported['input_tokens_details'], 'text_tokens'))
    const cachedText = Math.min(text, figure(reported['cached_tokens_details'], 'cached_text_tokens'))
    const cachedImage = Math.min(input - text, figure(reported['cached_tokens_details'], 'cached_image_tokens'))
    return asCalls(this.#tool, {
      input_text: text - cachedText,
      cached_input_text: cachedText,
      input_image: input - text - cachedImage,
      cached_input_image: cachedImage,
      output_text: figure(reported['output_tokens_details'], 'text_tokens'),
    })
  }

  /** Where the answer broke off before its `tool_usage`, or has none: made from all images, unless it was generated. */
  least(item: JsonObject): ToolCalls {
    const images = item['action'] === 'generate' ? 0 : this.#imagesGiven
    return asCalls(this.#tool, {
      input_text: Math.ceil(asText(item['revised_prompt']).length / charactersPerToken),
      input_image: images * leastImageTokens(this.#tool),
    })
  }
}

/** Each call may read the given images and those made before, up to its bound. */
const imagesReadMax = (given: number, calls: number): number => {
  const most = providerLimits.imageToolImagesMax
  const growing = Math.min(calls, Math.max(0, most - given))
  return growing * given + (growing * (growing - 1)) / 2 + (calls - growing) * most
}

/** The most tokens that `calls` images can read, by price name; nothing where no image was asked for. */
export const imageInputMax = (body: JsonObject, calls: number): ToolCalls => {
  const tools = imageToolsOf(body)
  const [tool] = tools
  if (tool === undefined) return {}
  const masks = tools.some((each) => isObject(each['input_image_mask'])) ? 1 : 0
  const given =
    typeof body['previous_response_id'] === 'string' ? providerLimits.imageToolImagesMax : imagesGivenIn(body) + masks
  const fidelity = tools.some(isFaithful) ? providerLimits.imageToolFidelityTokensMax : 0
  return asCalls(tool, {
    input_text: calls * providerLimits.imageToolPromptTokensMax,
    input_image: imagesReadMax(given, calls) * (providerLimits.imageToolImageTokensMax + fidelity),
  })
}

/** Names the model, and drops previews, whose cost the price of an image does not cover. */
export const priceableImageTool = (tool: JsonObject): JsonObject => {
  const { partial_images: _unpriced, ...rest } = tool
  return { ...rest, model: tool['model'] ?? modelUnnamed }
}
