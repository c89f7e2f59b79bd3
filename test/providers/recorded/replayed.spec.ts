import { readFileSync } from 'node:fs'
import t from 'tap'
import { chargeFor } from '../../../src/domain/pricing/charge.ts'
import { noUsage } from '../../../src/domain/usage/usage.ts'
import { asObject, type JsonObject, parseJsonBytes } from '../../../src/encoding/json.ts'
import type { StreamRelay, UpstreamAnswer } from '../../../src/providers/dialect/dialect.ts'
import { dialectFor } from '../../../src/providers/dialects.ts'
import { propertyRuns } from '../../support/property-runs.ts'
import { answerBytes } from '../answer-bytes.ts'
import { jsonEventsOf, readAnswer, readStream } from './content.ts'
import { problemsOfAnswer, problemsOfEvent, problemsOfMessages } from './contracts.ts'
import { askedOf, type Surface, sheet, surfaces, targetOf } from './targets.ts'
import {
  type RecordedAnswer,
  type RecordedStream,
  recordedAnswers,
  recordedStreams,
  surfacesOf,
  targetFor,
} from './traffic.ts'

const billOf = ({ reportedUsage }: Pick<UpstreamAnswer, 'reportedUsage'>): bigint | null =>
  reportedUsage && chargeFor(sheet, reportedUsage).totalPicos

const answerOn = (recorded: RecordedAnswer, surface: Surface): readonly [bigint | null, JsonObject] => {
  const target = targetFor(recorded)
  const asked = askedOf(surface, target, false)
  const dialect = dialectFor(target.provider, surface)
  const bytes = Buffer.from(JSON.stringify(recorded.body))
  const answer = dialect.readAnswer(target, asked, bytes)
  if ('fault' in answer) throw new Error(`${recorded.from} on ${surface}: ${answer.fault}`)
  const body =
    answer.reportedUsage === null ? dialect.completeAnswer(answer, noUsage, target, asked) : (answer.body ?? bytes)
  return [billOf(answer), asObject(parseJsonBytes(answerBytes(body)))]
}

const isLong = propertyRuns(1).numRuns > 1
const messages: JsonObject[] = []
const messageEvents: JsonObject[] = []

t.test('a recorded answer says and costs the same on every surface', async (t) => {
  for (const recorded of recordedAnswers) {
    const { from, format, body } = recorded
    const native = readAnswer(format, body)
    const bills = surfacesOf(recorded).map((surface) => {
      const [bill, json] = answerOn(recorded, surface)
      const { tokens, ...said } = readAnswer(surface, json)
      t.match(native, said, `${from} on ${surface}`)
      if (native.tokens !== null) t.strictSame(tokens, native.tokens, `${from} on ${surface}: tokens`)
      if (surface !== format) t.strictSame(problemsOfAnswer[surface](json), [], `${from} on ${surface}: schema`)
      if (surface === 'messages' && format !== 'messages') messages.push(json)
      return bill
    })
    t.equal(new Set(bills).size, 1, `${from}: one bill`)
    t.equal(bills[0] === null, native.tokens === null, `${from}: billed as it reports`)
  }
})

/** They end with an error of the provider. */
const failed = ['test_openrouter/test_openrouter_stream_error#0', 'test_groq/test_tool_use_failed_error_streaming#0']
const isWhole = ({ from }: RecordedStream): boolean => !failed.includes(from)

const openOn = (recorded: RecordedStream, surface: Surface): StreamRelay => {
  const target = targetFor(recorded)
  return dialectFor(target.provider, surface).openRelay(target, askedOf(surface, target, true))
}

const textOf = (bytes: Uint8Array | null): string => Buffer.from(bytes ?? []).toString()

/** What the client has before the closing event. */
const relayed = (relay: StreamRelay, bytes: Uint8Array, pieceBytes = bytes.length): string => {
  let text = ''
  for (let at = 0; at < bytes.length; at += pieceBytes) text += textOf(relay.push(bytes.subarray(at, at + pieceBytes)))
  return text + textOf(relay.end())
}

const closed = (relay: StreamRelay): string =>
  relay.state === 'done' ? textOf(relay.closing(relay.reportedUsage === null ? noUsage : null)) : ''

const deliveredBy = ({ delivered: { texts, reasoningTexts } }: StreamRelay): readonly [string, string] => [
  texts.join(''),
  reasoningTexts.join(''),
]

t.test('a recorded stream says and costs the same on every surface, in pieces of every size', async (t) => {
  for (const recorded of recordedStreams.filter(isWhole)) {
    const { from, format, text } = recorded
    const bytes = Buffer.from(text)
    const native = readStream(format, text)
    const bills = surfacesOf(recorded).map((surface) => {
      const name = `${from} on ${surface}`
      const relay = openOn(recorded, surface)
      const sse = relayed(relay, bytes) + closed(relay)
      t.equal(relay.state, 'done', name)
      const { tokens, ...said } = readStream(surface, sse)
      t.match(native, said, name)
      if (native.tokens !== null) t.strictSame(tokens, native.tokens, `${name}: tokens`)
      for (const pieceBytes of isLong ? [1, 2, 3, 5, 64, 1_000] : [1, 3, 64]) {
        const other = openOn(recorded, surface)
        t.equal(relayed(other, bytes, pieceBytes) + closed(other), sse, `${name}: pieces of ${pieceBytes} bytes`)
      }
      if (surface !== format)
        for (const json of jsonEventsOf(sse)) {
          t.strictSame(problemsOfEvent[surface](json), [], `${name}: schema`)
          if (surface === 'messages') messageEvents.push(json)
        }
      return billOf(relay)
    })
    t.equal(new Set(bills).size, 1, `${from}: one bill`)
  }
})

const converse = ['text', 'tool-call', 'tool-pieces', 'thinking', 'redacted']

t.test('a recorded stream of Bedrock says and costs the same on every surface', async (t) => {
  const target = targetOf('bedrock', 'amazon.nova-lite-v1:0')
  for (const name of converse) {
    const bytes = readFileSync(new URL(`../bedrock/recorded/converse-stream-${name}.bin`, import.meta.url))
    const [first, ...others] = surfaces.map((surface) => {
      const relay = dialectFor(target.provider, surface).openRelay(target, askedOf(surface, target, true))
      return [readStream(surface, relayed(relay, bytes, 100) + closed(relay)), billOf(relay)] as const
    })
    for (const [index, other] of others.entries()) t.strictSame(other, first, `${name} on ${surfaces[index + 1]}`)
  }
})

t.test('the types of the SDK know all that the messages surface sends', async (t) => {
  t.ok(messages.length > 20 && messageEvents.length > 100)
  t.strictSame(problemsOfMessages(messages, messageEvents), [])
})

t.test(
  'a recorded stream that ends with an error breaks on every surface, and reports no usage as final',
  async (t) => {
    for (const recorded of recordedStreams.filter((each) => !isWhole(each)))
      for (const surface of surfacesOf(recorded)) {
        const relay = openOn(recorded, surface)
        relayed(relay, Buffer.from(recorded.text))
        t.match(
          relay,
          { state: 'broken', fault: 'error_in_stream', isFinished: false },
          `${recorded.from} on ${surface}`,
        )
      }
  },
)

const everyByteMax = 600

/** Every byte of a short stream, and of all by `make properties`; else those about the end of each line, and some between. */
const cutsOf = (bytes: Buffer): readonly number[] => {
  const all = Array.from(bytes.keys())
  if (bytes.length <= everyByteMax || isLong) return all
  const step = Math.ceil(bytes.length / 40)
  return all.filter((at) => at % step === 0 || bytes.subarray(Math.max(0, at - 2), at + 1).includes(0x0a))
}

t.test(
  'a recorded stream cut at any byte breaks, or ends as the whole one; nothing is billed that did not come',
  async (t) => {
    for (const recorded of recordedStreams.filter(isWhole)) {
      const bytes = Buffer.from(recorded.text)
      for (const surface of surfacesOf(recorded)) {
        const whole = openOn(recorded, surface)
        const sse = relayed(whole, bytes)
        const bill = billOf(whole)
        const delivered = deliveredBy(whole)
        const wrong = cutsOf(bytes).filter((cut) => {
          const relay = openOn(recorded, surface)
          const begun = relayed(relay, bytes.subarray(0, cut))
          const isPart = deliveredBy(relay).every((text, index) => delivered[index]?.startsWith(text))
          const isEnded = relay.state === 'done' || (relay.state === 'broken' && relay.fault !== null)
          const isBilled = !relay.isFinished || billOf(relay) === bill
          return !(sse.startsWith(begun.trimEnd()) && isPart && isEnded && isBilled)
        })
        t.strictSame(wrong, [], `${recorded.from} on ${surface}`)
      }
    }
  },
)
