import type { JsonObject } from '../../src/encoding/json.ts'
import type { Output } from '../answers/output.ts'
import { type Asked, namedEvent, type Part, type ReportedUsage } from '../http/dialect.ts'
import { type Block, deltasOf, openingBlock } from './content.ts'
import { endingOf, messageOf, noEnding } from './message.ts'
import type { UsageReports } from './usage.ts'

const eventOf = (event: JsonObject, reported: ReportedUsage | null = null): Part => ({
  text: namedEvent(event),
  reported,
})

function* blockEvents(block: Block, index: number): Iterable<Part> {
  yield eventOf({ type: 'content_block_start', index, content_block: openingBlock(block) })
  if (index === 0) yield eventOf({ type: 'ping' })
  for (const delta of deltasOf(block)) yield eventOf({ type: 'content_block_delta', index, delta })
  yield eventOf({ type: 'content_block_stop', index })
}

export function* streamMessagesParts(
  asked: Asked,
  output: Output,
  content: readonly Block[],
  reports: UsageReports | null,
): Iterable<Part> {
  const start = reports?.start ?? null
  const end = reports?.end ?? null
  yield eventOf({ type: 'message_start', message: messageOf(asked, [], noEnding, start) }, start)
  for (const [index, block] of content.entries()) yield* blockEvents(block, index)
  const usage = end === null ? {} : { usage: end.usage }
  yield eventOf({ type: 'message_delta', delta: { ...endingOf(asked, output), container: null }, ...usage }, end)
  if (!asked.directives.no_done) yield eventOf({ type: 'message_stop' })
}
