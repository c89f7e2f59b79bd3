import fc from 'fast-check'
import { noUsage, type Usage } from '../../../src/domain/usage/usage.ts'
import type { Served } from '../../../src/providers/canonical/format.ts'
import { type Reply, type ReplyEvent, type ReplyPart, refusalMark } from '../../../src/providers/canonical/reply.ts'

export const served: Served = {
  model: 'alpha/gpt-4o-mini',
  requestId: '0199d0a0-0000-7000-8000-000000000001',
  createdSeconds: 1_760_000_000,
  nowSeconds: () => 1_760_000_002,
  provider: 'alpha',
}

export const usage: Usage = {
  ...noUsage,
  inputUncached: 7,
  cacheRead: 3,
  promptTotal: 10,
  outputTotal: 5,
  outputReasoning: 2,
}

export type UsedReply = Reply & { readonly usage: Usage }

export const replyOf = (parts: readonly ReplyPart[], more: Partial<UsedReply> = {}): UsedReply => ({
  id: 'r1',
  parts,
  stop: 'end',
  stopSequence: null,
  usage,
  ...more,
})

const partEvents = (part: ReplyPart): readonly ReplyEvent[] => {
  switch (part.type) {
    case 'text':
      return [
        { type: 'text', text: part.text, ...refusalMark(part) },
        ...part.citations.map((citation) => ({ type: 'citation', citation }) as const),
      ]
    case 'thinking':
      return [
        { type: 'thinking', text: part.text },
        ...(part.signature === null ? [] : [{ type: 'signature', signature: part.signature } as const]),
      ]
    case 'redacted_thinking':
      return [part]
    case 'tool_call':
      return [
        { type: 'tool_call', id: part.id, name: part.name, signature: part.signature },
        ...part.arguments.split(/(?<=[,:{])/).map((text) => ({ type: 'arguments', text }) as const),
      ]
  }
}

/** A whole answer as it would have been streamed. */
export const eventsOf = ({ id, parts, stop, stopSequence }: Reply): readonly ReplyEvent[] => [
  { type: 'start', id, usage: null },
  ...parts.flatMap(partEvents),
  { type: 'stop', reason: stop, stopSequence },
]

const filled = fc.string({ minLength: 1, unit: 'grapheme' })

const textPart: fc.Arbitrary<ReplyPart> = filled.chain((text) =>
  fc
    .array(
      fc.record({
        url: fc.webUrl(),
        title: fc.option(filled),
        citedText: fc.constant(null),
        range: fc.option(fc.nat(text.length).map((end) => ({ start: 0, end }))),
      }),
      { maxLength: 2 },
    )
    .map((citations) => ({ type: 'text', text, citations })),
)

const otherPart: fc.Arbitrary<ReplyPart> = fc.oneof(
  fc.record({ type: fc.constant('thinking' as const), text: filled, signature: fc.option(filled) }),
  fc.record({ type: fc.constant('redacted_thinking' as const), data: filled }),
  fc.record({
    type: fc.constant('tool_call' as const),
    id: fc.uuid(),
    name: fc.constantFrom('find', 'now'),
    arguments: fc.dictionary(filled, filled).map((given) => JSON.stringify(given)),
    signature: fc.option(filled),
  }),
)

/** Texts are apart from each other: in a stream two that touch are one. */
const apart = (parts: readonly ReplyPart[]): readonly ReplyPart[] =>
  parts.filter(({ type }, at) => type !== 'text' || parts[at - 1]?.type !== 'text')

export const anyReply: fc.Arbitrary<UsedReply> = fc
  .record({
    parts: fc.array(fc.oneof(textPart, otherPart), { maxLength: 6 }).map(apart),
    stop: fc.constantFrom('end', 'stop_sequence', 'length', 'tool_calls', 'filtered'),
  })
  .map(({ parts, stop }) => replyOf(parts, { stop }))
