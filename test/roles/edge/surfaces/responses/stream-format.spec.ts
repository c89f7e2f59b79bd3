import fc from 'fast-check'
import { APIError } from 'openai'
import { Stream } from 'openai/core/streaming'
import t from 'tap'
import { asObject, type JsonObject, parseJson } from '../../../../../src/encoding/json.ts'
import { GatewayError } from '../../../../../src/errors/gateway-error.ts'
import { errorTable } from '../../../../../src/http/error-table.ts'
import {
  ResponsesStreamFormat,
  responsesErrorEvent,
} from '../../../../../src/roles/edge/surfaces/responses/stream-format.ts'
import { created, messageOf, responseOf, sse, usageOf } from '../../../../providers/openai-responses/fixtures.ts'
import { problemsOfResponsesEvent } from '../../../../reference/responses-contract.ts'

const broken = new GatewayError('upstream_stream_interrupted', 'Broken off.')

const unseen = {
  requestId: '0199d0a0-0000-7000-8000-000000000001',
  model: 'openai/plain',
  createdSeconds: 1_760_000_000,
}

/** The error, and the failed response behind it. */
const endAfter = (pieces: readonly Uint8Array[], failure = broken): readonly JsonObject[] => {
  const voice = new ResponsesStreamFormat(unseen)
  for (const piece of pieces) voice.observe(piece)
  const text = Buffer.from(voice.errorEvent(failure)).toString()
  const events = text.split('\n\n').filter((event) => event !== '')
  return events.map((event) => {
    const [name = '', data = ''] = event.split('\ndata: ')
    const json = asObject(parseJson(data))
    if (name !== `event: ${json['type']}`) throw new Error(`${name} has the type ${json['type']}`)
    return json
  })
}

const numberAfter = (pieces: readonly Uint8Array[]): unknown => {
  const [error, failed] = endAfter(pieces)
  const number = error?.['sequence_number']
  if (failed?.['sequence_number'] !== Number(number) + 1) throw new Error('events are numbered one by one')
  return number
}

const eventOf = (sequence: number, text: string): string =>
  `event: response.output_text.delta\ndata: ${JSON.stringify({ type: 'response.output_text.delta', delta: text, sequence_number: sequence })}\n\n`

t.test('an error is numbered as the next event', async (t) => {
  t.equal(numberAfter([]), 0)
  t.equal(numberAfter([Buffer.from(eventOf(0, 'a') + eventOf(1, 'b'))]), 2)
  t.equal(numberAfter([Buffer.from('data: {"type":"x","sequence_number": 41, "delta":"y"}\n\n')]), 42)
  t.equal(numberAfter([Buffer.from(eventOf(3, '"sequence_number":99,'))]), 4, 'a text that says so is none')
  t.equal(numberAfter([Buffer.from('data: {"metadata":{"sequence_number":"12"},"sequence_number":5}\n\n')]), 6)
})

t.test('a response that repeats many megabytes of tools is not kept for an error', async (t) => {
  const instructions = 'You are "model":"none", "id":"none".'
  const tools = [{ type: 'function', name: 'f', model: 'none', id: 'none', description: 'x'.repeat(20_000_000) }]
  const response = responseOf([], { instructions, tools })
  const begun = Buffer.from(sse({ type: 'response.created', response, sequence_number: 0 }))
  const pieceBytes = 256 * 1024
  const pieces = Array.from({ length: Math.ceil(begun.length / pieceBytes) }, (_, place) =>
    begun.subarray(place * pieceBytes, (place + 1) * pieceBytes),
  )
  const [error, failed] = endAfter([...pieces, Buffer.from(eventOf(1, 'a'))])
  t.equal(error?.['sequence_number'], 2)
  const { id, created_at, model, tools: repeated, status } = asObject(failed?.['response'])
  t.strictSame([id, created_at, model], [response['id'], response['created_at'], response['model']])
  t.strictSame([repeated, status], [[], 'failed'])
})

t.test('wherever the bytes are cut', async () => {
  const bytes = Buffer.from([0, 1, 22, 333].map((sequence) => eventOf(sequence, 'Grüezi')).join(''))
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 40 }), (cuts) => {
      const at = [0, ...cuts.toSorted((one, other) => one - other), bytes.length]
      const pieces = at.slice(1).map((end, index) => bytes.subarray(at[index], end))
      return numberAfter(pieces) === 334
    }),
  )
})

const opening = [...created({ model: 'gpt-5-2025', instructions: 'Grüezi' }), { type: 'response.x', delta: 'a' }]
const openingBytes = Buffer.from(`: wait\n\n${opening.map(sse).join('')}`)
const [createdEvent] = opening
const begun = asObject(createdEvent?.['response'])
const ownError = { code: 'upstream_stream_interrupted', message: 'Broken off.' }

t.test('the failed response is the one that began, with the error', async (t) => {
  const [error, failed] = endAfter([openingBytes])
  t.match([error, failed], [{ type: 'error' }, { type: 'response.failed' }])
  t.strictSame(failed?.['response'], { ...begun, status: 'failed', error: ownError })
  t.strictSame(
    [error, failed].flatMap((event) => problemsOfResponsesEvent(event ?? {})),
    [],
  )
})

t.test('wherever its beginning is cut, and however its lines end', async () => {
  const variants = [openingBytes, Buffer.from(openingBytes.toString().replaceAll('\n', '\r\n'))]
  fc.assert(
    fc.property(
      fc.constantFrom(...variants),
      fc.array(fc.nat(openingBytes.length), { maxLength: 10 }),
      (bytes, cuts) => {
        const at = [0, ...cuts.toSorted((one, other) => one - other), bytes.length]
        const [, failed] = endAfter(at.slice(1).map((end, index) => bytes.subarray(at[index], end)))
        return asObject(failed?.['response'])['instructions'] === 'Grüezi'
      },
    ),
  )
})

t.test('the members that the upstream sent count', async (t) => {
  const error = { code: 'rate_limit_exceeded', message: 'Please try again in 11.054s.' }
  const own = { ...begun, id: 'resp_1', status: 'failed', error, output: [messageOf('Hi')], usage: usageOf(3, 4) }
  const ending = (failedResponse: JsonObject): unknown => {
    const failure = new GatewayError('upstream_stream_interrupted', 'Broken off.', { failedResponse })
    return endAfter([openingBytes], failure)[1]?.['response']
  }
  t.strictSame(ending(own), own)
  t.strictSame(ending({ error }), { ...begun, status: 'failed', error })
  t.strictSame(ending({ usage: usageOf(3, 4) }), { ...begun, status: 'failed', error: ownError, usage: usageOf(3, 4) })
})

t.test('a stream that did not begin with its response fails with one all the same', async (t) => {
  for (const pieces of [[], [Buffer.from(eventOf(0, 'a'))], [Buffer.from('data: {nonsense\n\n')]]) {
    const [, failed] = endAfter(pieces)
    t.match(failed?.['response'], { id: /^resp_\w{32}$/, status: 'failed', error: ownError, model: 'openai/plain' })
    t.strictSame(problemsOfResponsesEvent(failed ?? {}), [])
    t.strictSame(
      Object.keys(responseOf([])).filter((name) => !(name in asObject(failed?.['response']))),
      [],
    )
  }
})

const brokenOverLines = new GatewayError('upstream_stream_interrupted', 'The upstream provider broke off\nthe answer.')

t.test('an error has both spellings in one event', async (t) => {
  const [name, data, ...rest] = responsesErrorEvent(brokenOverLines, 7).split('\n')
  t.same([name, rest], ['event: error', ['', '']])
  const event = JSON.parse(data?.slice('data: '.length) ?? '')
  const error = {
    message: brokenOverLines.message,
    type: 'upstream_error',
    code: 'upstream_stream_interrupted',
    param: null,
  }
  t.strictSame(event, {
    type: 'error',
    sequence_number: 7,
    code: error.code,
    message: error.message,
    param: null,
    error,
  })
  t.strictSame(problemsOfResponsesEvent(event), [])
})

t.test('the official SDK raises it', async (t) => {
  const stream = Stream.fromSSEResponse(new Response(responsesErrorEvent(brokenOverLines, 0)), new AbortController())
  const read = async (): Promise<unknown> => {
    for await (const _event of stream) return undefined
    return undefined
  }
  const raised = await read().catch((fault: unknown) => fault)
  t.ok(raised instanceof APIError)
  t.match(raised, {
    message: brokenOverLines.message,
    code: brokenOverLines.code,
    type: errorTable[brokenOverLines.code].type,
  })
})

t.test('the failed response keeps integers beyond 2^53 of its begin', async (t) => {
  const wide = '9007199254740993'
  const format = new ResponsesStreamFormat(unseen)
  const response = { ...responseOf([]), vendor: 'WIDE' }
  format.observe(Buffer.from(sse({ type: 'response.created', sequence_number: 0, response }).replace('"WIDE"', wide)))
  t.match(Buffer.from(format.errorEvent(broken)).toString(), `"vendor":${wide}`)
})
