import type { JsonObject } from '../../src/encoding/json.ts'
import { eventNameOf, type Item, openingItem, wholeItem } from './items.ts'

type ItemOf<T extends Item['type']> = Item & { readonly type: T }

const partOf = (item: ItemOf<'message'>, text: string, annotations: readonly JsonObject[]): JsonObject =>
  item.isRefusal ? { type: 'refusal', refusal: text } : { type: 'output_text', text, annotations, logprobs: [] }

function* refusalEvents(item: ItemOf<'message'>, content_index: number): Iterable<JsonObject> {
  for (const delta of item.pieces) yield { type: 'response.refusal.delta', content_index, delta }
  yield { type: 'response.refusal.done', content_index, refusal: item.pieces.join('') }
}

function* textEvents(item: ItemOf<'message'>, content_index: number): Iterable<JsonObject> {
  for (const delta of item.pieces) yield { type: 'response.output_text.delta', content_index, delta, logprobs: [] }
  for (const [annotation_index, annotation] of item.annotations.entries())
    yield { type: 'response.output_text.annotation.added', content_index, annotation_index, annotation }
  yield { type: 'response.output_text.done', content_index, text: item.pieces.join(''), logprobs: [] }
}

function* messageEvents(item: ItemOf<'message'>): Iterable<JsonObject> {
  const content_index = 0
  yield { type: 'response.content_part.added', content_index, part: partOf(item, '', []) }
  yield* item.isRefusal ? refusalEvents(item, content_index) : textEvents(item, content_index)
  const part = partOf(item, item.pieces.join(''), item.annotations)
  yield { type: 'response.content_part.done', content_index, part }
}

function* summaryEvents({ pieces }: ItemOf<'reasoning'>): Iterable<JsonObject> {
  const summary_index = 0
  const text = pieces.join('')
  const part = { type: 'summary_text', text: '' }
  yield { type: 'response.reasoning_summary_part.added', summary_index, part }
  for (const delta of pieces) yield { type: 'response.reasoning_summary_text.delta', summary_index, delta }
  yield { type: 'response.reasoning_summary_text.done', summary_index, text }
  yield { type: 'response.reasoning_summary_part.done', summary_index, part: { ...part, text } }
}

function* reasoningTextEvents({ pieces }: ItemOf<'reasoning'>): Iterable<JsonObject> {
  const content_index = 0
  const text = pieces.join('')
  const part = { type: 'reasoning_text', text: '' }
  yield { type: 'response.content_part.added', content_index, part }
  for (const delta of pieces) yield { type: 'response.reasoning_text.delta', content_index, delta }
  yield { type: 'response.reasoning_text.done', content_index, text }
  yield { type: 'response.content_part.done', content_index, part: { ...part, text } }
}

function* callEvents(item: ItemOf<'function_call'> | ItemOf<'custom_tool_call'>): Iterable<JsonObject> {
  const whole = item.pieces.join('')
  if (item.type === 'custom_tool_call') {
    for (const delta of item.pieces) yield { type: 'response.custom_tool_call_input.delta', delta }
    return yield { type: 'response.custom_tool_call_input.done', input: whole }
  }
  for (const delta of item.pieces) yield { type: 'response.function_call_arguments.delta', delta }
  yield { type: 'response.function_call_arguments.done', name: item.name, arguments: whole }
}

function* codeEvents(item: ItemOf<'code_interpreter_call'>): Iterable<JsonObject> {
  yield { type: eventNameOf(item, 'in_progress') }
  for (const delta of item.pieces) yield { type: 'response.code_interpreter_call_code.delta', delta }
  yield { type: 'response.code_interpreter_call_code.done', code: item.pieces.join('') }
  yield { type: eventNameOf(item, 'interpreting') }
  yield { type: eventNameOf(item, 'completed') }
}

function* imageEvents(item: ItemOf<'image_generation_call'>): Iterable<JsonObject> {
  yield { type: eventNameOf(item, 'in_progress') }
  yield { type: eventNameOf(item, 'generating') }
  const { background, output_format, quality, size } = item.members
  for (let index = 0; index < item.partialImages; index += 1) {
    const partial = { partial_image_index: index, partial_image_b64: item.result }
    yield { type: eventNameOf(item, 'partial_image'), ...partial, background, output_format, quality, size }
  }
  yield { type: eventNameOf(item, 'completed') }
}

function* searchEvents(
  item: ItemOf<'web_search_call'> | ItemOf<'x_search_call'> | ItemOf<'file_search_call'>,
): Iterable<JsonObject> {
  yield { type: eventNameOf(item, 'in_progress') }
  yield { type: eventNameOf(item, 'searching') }
  if (item.succeeds) yield { type: eventNameOf(item, 'completed') }
}

const eventsWithin = (item: Item): Iterable<JsonObject> => {
  switch (item.type) {
    case 'message':
      return messageEvents(item)
    case 'reasoning':
      return item.shown === 'nothing' ? [] : item.shown === 'summary' ? summaryEvents(item) : reasoningTextEvents(item)
    case 'function_call':
    case 'custom_tool_call':
      return callEvents(item)
    case 'code_interpreter_call':
      return codeEvents(item)
    case 'image_generation_call':
      return imageEvents(item)
    default:
      return searchEvents(item)
  }
}

export function* itemEvents(item: Item, output_index: number): Iterable<JsonObject> {
  yield { type: 'response.output_item.added', output_index, item: openingItem(item) }
  for (const event of eventsWithin(item)) yield { ...event, item_id: item.id, output_index }
  yield { type: 'response.output_item.done', output_index, item: wholeItem(item) }
}
