import type { Surface } from '../domain/routing/plan.ts'
import { asArray, asObject, asText, isObject, type JsonObject } from '../encoding/json.ts'
import { isStepLong } from '../encoding/steps.ts'
import { capabilitiesOf } from './anthropic/capabilities.ts'
import type { Target } from './dialect/dialect.ts'
import { promptMedia } from './dialect/media.ts'
import { leastEffortOf } from './openai/effort.ts'
import { isSearchModel } from './openai/usage.ts'

/** What a stream that is cancelled may have cost without having shown it. */
interface HiddenOutput {
  /** Before its visible answer. */
  readonly thinking: boolean
  /** At any time: a built-in tool, audio, images, documents, or a prompt that the provider keeps. */
  readonly beyondText: boolean
}

const thinkingModels =
  /(?:^|[/._-])(?:o[1-9](?:-|$)|gpt-(?:[6-9]|5(?!.*chat)|oss)|gemini-(?:2\.5|[3-9])|grok-(?:3-mini|[4-9])|r1(?:-|$)|qwq|magistral)|reasoner|reasoning|thinking/
const plainModels = /non-?reasoning|-chat(?:-|$)/
const searchingModels = /(?:^|\/)(?:sonar|compound)/
const mediaModels = /-(?:audio|image|tts)(?:-|$)/

const offEfforts: readonly unknown[] = ['none', 'off']

type NamedModel = Pick<Target, 'model' | 'upstreamModel'>

const effortOf = (body: JsonObject): unknown => body['reasoning_effort'] ?? asObject(body['reasoning'])['effort']

/** Null where the request leaves it to the model. */
const asksToThink = (body: JsonObject): boolean | null => {
  const { type } = asObject(body['thinking'])
  const { thinkingConfig } = asObject(body['generationConfig'])
  if (isObject(thinkingConfig)) return thinkingConfig['thinkingBudget'] !== 0
  if (type === 'disabled') return false
  if (typeof type === 'string') return true
  const effort = effortOf(body)
  return typeof effort === 'string' ? !offEfforts.includes(effort) : null
}

const isThinkerByName = (name: string): boolean | null => {
  if (name.includes('claude-')) return !capabilitiesOf(name).canDisableThinking
  if (plainModels.test(name)) return false
  return thinkingModels.test(name) || leastEffortOf(name) !== null ? true : null
}

/** A deployment's name, or an ARN, is as its operator likes: then the public name, which has the price, decides. */
const thinksByItself = ({ model, upstreamModel }: NamedModel): boolean =>
  isThinkerByName(upstreamModel) ?? isThinkerByName(model.slice(model.indexOf('/') + 1)) ?? false

/** Those that the caller runs, on any surface. */
const callersTypes =
  /^(?:function|custom|namespace|local_shell|apply_patch|computer(?:_use\w{0,32})?|(?:bash|text_editor|computer|computer_toolset|browser_toolset|memory)_\d{8})$/

/** On one surface a caller's own tool has no type. */
const hasBuiltInTool = ({ tools }: JsonObject): boolean =>
  asArray(tools).some((tool) => isObject(tool) && !callersTypes.test(asText(tool['type'] ?? 'custom')))

const hidesBeyondText: { readonly [S in Surface]: (body: JsonObject) => boolean } = {
  chat: (body) =>
    isObject(body['web_search_options']) ||
    isObject(body['audio']) ||
    asArray(body['modalities']).some((modality) => modality !== 'text'),
  messages: (body) => asArray(body['mcp_servers']).length > 0,
  responses: ({ previous_response_id: previous }) => typeof previous === 'string',
  embeddings: () => false,
  gemini: ({ tools, generationConfig }) =>
    asArray(tools).some((tool) => Object.keys(asObject(tool)).some((name) => name !== 'functionDeclarations')) ||
    asArray(asObject(generationConfig)['responseModalities']).some((modality) => modality !== 'TEXT'),
}

interface HidingRequest {
  readonly asksToThink: boolean | null
  readonly beyondText: boolean
}

function* hasMedia(body: JsonObject): Generator<void, boolean> {
  for (const found of promptMedia(body)) {
    if (found !== null) return true
    if (isStepLong()) yield
  }
  return false
}

/** What its body decides, in steps. */
export function* readHidingRequest(surface: Surface, body: JsonObject): Generator<void, HidingRequest> {
  const beyondText = hasBuiltInTool(body) || hidesBeyondText[surface](body) || (yield* hasMedia(body))
  return { asksToThink: asksToThink(body), beyondText }
}

/** `hasThought`: the model was seen to think, asked or not. */
export const hiddenOutputOf = (
  { asksToThink: asked, beyondText }: HidingRequest,
  target: NamedModel,
  hasThought: boolean,
): HiddenOutput => ({
  thinking: asked ?? (hasThought || thinksByItself(target)),
  beyondText:
    beyondText ||
    isSearchModel(target.upstreamModel) ||
    searchingModels.test(target.upstreamModel) ||
    mediaModels.test(target.upstreamModel),
})
