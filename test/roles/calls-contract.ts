import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import type { Test } from 'tap'
import { clientGoneError, GatewayError } from '../../src/errors/gateway-error.ts'
import { errorStatusOf } from '../../src/http/error-table.ts'
import { type AnswerPart, cancelAtOnce, type Dispatch, type RoutedRequest } from '../../src/roles/dispatch.ts'
import { OpenCalls } from '../../src/roles/open-calls.ts'
import { streamInterrupted } from '../../src/roles/proxy/failure.ts'
import { until } from '../support/clients.ts'

/** A way from an edge to a proxy. */
export interface Transport {
  readonly dispatch: Dispatch
  close(): Promise<void>
}

/** Opens a transport behind which a proxy serves. */
export type OpenTransport = (serve: Dispatch) => Promise<Transport>

export const routedCall = (call: Partial<RoutedRequest> = {}): RoutedRequest => ({
  requestId: randomUUID(),
  workspaceId: 'acme',
  keyId: 'key-1',
  surface: 'chat',
  body: { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Grüße, 世界' }] },
  stream: true,
  candidates: [],
  chain: false,
  allowanceId: null,
  reserved: '0.25',
  outputCap: null,
  deadlineMs: Date.now() + 60_000,
  ...call,
})

export const head: AnswerPart = {
  type: 'head',
  contentType: 'text/event-stream',
  level: 2,
  model: 'openai/gpt-4o-mini',
}

export const bytesPart = (bytes: Uint8Array): AnswerPart => ({ type: 'bytes', bytes })

export const answerOf = async function* (chunks: readonly Uint8Array[]): AsyncGenerator<AnswerPart> {
  yield head
  for (const chunk of chunks) yield bytesPart(chunk)
}

export const stay = (): AbortSignal => new AbortController().signal

export interface Heard {
  readonly first: AnswerPart | undefined
  readonly bytes: Buffer
  /** What was thrown in the end. */
  readonly fault: unknown
}

/** Reads an answer to its end, however it ends. */
export const hear = async (answer: AsyncIterable<AnswerPart>): Promise<Heard> => {
  const parts: AnswerPart[] = []
  const heard = (fault: unknown): Heard => {
    const chunks = parts.flatMap((part) => (part.type === 'bytes' ? [part.bytes] : []))
    return { first: parts[0], bytes: Buffer.concat(chunks), fault }
  }
  try {
    for await (const part of answer) parts.push(part)
    return heard(undefined)
  } catch (fault) {
    return heard(fault)
  }
}

const fieldsOf = (fault: unknown): object =>
  fault instanceof GatewayError
    ? {
        code: fault.code,
        message: fault.message,
        param: fault.param,
        status: errorStatusOf(fault),
        retryAfterSeconds: fault.retryAfterSeconds,
        failedAt: fault.failedAt,
        details: fault.details,
        failedResponse: fault.failedResponse,
      }
    : {}

const megabyte = 1024 * 1024

/** What an edge can rely on, whichever way its calls go. */
export const callsContract = (t: Test, open: OpenTransport): void => {
  const serving = async (t: Test, serve: Dispatch): Promise<Dispatch> => {
    const transport = await open(serve)
    t.teardown(() => transport.close())
    return transport.dispatch
  }

  t.test('the call arrives as it was, and its answer head first', async (t) => {
    const seen: RoutedRequest[] = []
    const dispatch = await serving(t, (call) => {
      seen.push(call)
      return answerOf([Buffer.from('{"a":1}')])
    })
    const call = routedCall({ stream: false, outputCap: 12, allowanceId: 'allowance-1' })
    const { first, bytes, fault } = await hear(dispatch(call, stay()))
    t.equal(fault, undefined)
    t.strictSame(first, head)
    t.equal(bytes.toString(), '{"a":1}')
    const { deadlineMs, ...rest } = call
    t.match(seen, [rest])
    t.ok(Math.abs((seen[0]?.deadlineMs ?? 0) - deadlineMs) < 10_000, 'the deadline is carried over')
  })

  t.test('a stream arrives in order and byte for byte, empty chunks too', async (t) => {
    const sent = [0, 1, 10, 0, 70_000, 3, 200_000, 0].map((length) => randomBytes(length))
    const dispatch = await serving(t, () => answerOf(sent))
    const { bytes, fault } = await hear(dispatch(routedCall(), stay()))
    t.equal(fault, undefined)
    t.ok(bytes.equals(Buffer.concat(sent)))
  })

  t.test('an answer without a byte ends', async (t) => {
    const dispatch = await serving(t, () => answerOf([]))
    t.match(await hear(dispatch(routedCall(), stay())), { first: head, fault: undefined })
  })

  t.test('chunks of any size arrive whole', async (t) => {
    const answers = new Map<string, readonly Uint8Array[]>()
    const dispatch = await serving(t, ({ requestId }) => answerOf(answers.get(requestId) ?? []))
    const sizes = fc.array(fc.oneof(fc.nat(40), fc.nat(100_000)), { maxLength: 12 })
    const arrives = fc.asyncProperty(sizes, async (lengths) => {
      const call = routedCall()
      const chunks = lengths.map((length) => randomBytes(length))
      answers.set(call.requestId, chunks)
      const { bytes, fault } = await hear(dispatch(call, stay()))
      return fault === undefined && bytes.equals(Buffer.concat(chunks))
    })
    await t.resolves(fc.assert(arrives, { numRuns: 40 }))
  })

  t.test('an error crosses with all its fields, before the head and after it', async (t) => {
    const refusal = new GatewayError('rate_limit_exceeded', 'Zu viele Anfragen.', {
      param: 'messages.0',
      status: 418,
      retryAfterSeconds: 7,
      failedAt: { level: 1, model: 'openai/gpt-4o' },
      details: { error_code: 'a_word' },
    })
    const bare = new GatewayError('upstream_stream_interrupted', 'broken off', {
      failedResponse: { id: 'resp_1', error: { code: 'server_error', message: 'Grüezi' }, usage: null },
    })
    const dispatch = await serving(t, async function* ({ stream }) {
      if (!stream) throw refusal
      yield head
      yield bytesPart(Buffer.from('half'))
      throw bare
    })
    const before = await hear(dispatch(routedCall({ stream: false }), stay()))
    t.equal(before.first, undefined)
    t.strictSame(fieldsOf(before.fault), fieldsOf(refusal))
    const after = await hear(dispatch(routedCall(), stay()))
    t.equal(after.bytes.toString(), 'half')
    t.strictSame(fieldsOf(after.fault), fieldsOf(bare))
  })

  t.test('a fault that is no GatewayError is one of ours to whoever renders it', async (t) => {
    const dispatch = await serving(t, async function* () {
      yield head
      throw new TypeError('nothing to tell a caller')
    })
    const { fault } = await hear(dispatch(routedCall(), stay()))
    t.ok(fault instanceof Error)
    t.equal(fault instanceof GatewayError ? fault.code : 'internal_error', 'internal_error')
  })

  t.test('a reader that stops reading stops its own upstream and no other', async (t) => {
    const chunk = Buffer.alloc(4096, 'x')
    let pulls = 0
    let ended = false
    const endless = async function* (): AsyncGenerator<AnswerPart> {
      try {
        yield head
        for (;;) {
          pulls += 1
          yield bytesPart(chunk)
        }
      } finally {
        ended = true
      }
    }
    const many = Array.from({ length: 2_000 }, () => chunk)
    const dispatch = await serving(t, ({ stream }) => (stream ? endless() : answerOf(many)))
    const slow = dispatch(routedCall(), stay())[Symbol.asyncIterator]()
    await slow.next()
    await slow.next()
    const { bytes } = await hear(dispatch(routedCall({ stream: false }), stay()))
    t.equal(bytes.length, chunk.length * many.length)
    t.ok(pulls <= 50, `pulled ${pulls} times`)
    for (let read = 0; read < 500; read += 1) await slow.next()
    t.ok(pulls >= 500, 'and goes on when it is read again')
    await slow.return?.()
    await until(() => ended)
  })

  t.test('a client that goes away ends its call on both sides', async (t) => {
    const gone = new AbortController()
    let served: AbortSignal | undefined
    const dispatch = await serving(t, async function* (_, clientGone) {
      served = clientGone
      yield head
      await new Promise((resolve) => clientGone.addEventListener('abort', resolve))
      throw clientGoneError()
    })
    const answer = dispatch(routedCall(), gone.signal)[Symbol.asyncIterator]()
    await answer.next()
    const rest = answer.next().catch((fault: unknown) => fault)
    gone.abort()
    t.match(await rest, { code: 'invalid_request', status: 499 })
    await until(() => served?.aborted === true)
    t.match(await answer.next(), { done: true })
  })

  t.test(
    'a client that goes away keeps its reader until its call has ended, and reports whether it is read on',
    async (t) => {
      let ending = Promise.withResolvers<void>()
      let served: AbortSignal | undefined
      const dispatch = await serving(t, async function* (_, clientGone) {
        served = clientGone
        try {
          yield head
          await ending.promise
        } finally {
          await ending.promise
        }
      })
      for (const reason of [undefined, cancelAtOnce])
        for (const how of ['next', 'return'] as const) {
          ending = Promise.withResolvers<void>()
          const gone = new AbortController()
          const answer = dispatch(routedCall(), gone.signal)[Symbol.asyncIterator]()
          await answer.next()
          let isOver = false
          gone.abort(reason)
          const rest = (how === 'next' ? answer.next() : answer.return!()).catch((fault: unknown) => fault)
          void rest.then(() => {
            isOver = true
          })
          await until(() => served?.aborted === true)
          t.equal(served?.reason === cancelAtOnce, reason === cancelAtOnce)
          await new Promise((resolve) => setTimeout(resolve, 50))
          t.notOk(isOver)
          ending.resolve()
          await rest
        }
    },
  )

  /** Answers with its head, and then only with what ends it. */
  const untilEnded = (seen: string[]): Dispatch =>
    async function* (_, clientGone, openCalls) {
      yield head
      const ended = Promise.withResolvers<void>()
      const shutDown = (): void => {
        seen.push('shutdown')
        ended.resolve()
      }
      clientGone.addEventListener('abort', () => seen.push('client gone'))
      openCalls?.enter({ shutDown })
      await ended.promise
      throw streamInterrupted('shutdown', true)
    }

  t.test('an edge that stops ends its calls, and their readers hear how', async (t) => {
    const seen: string[] = []
    const dispatch = await serving(t, untilEnded(seen))
    const openCalls = new OpenCalls()
    const answers = [true, false].map((stream) =>
      dispatch(routedCall({ stream }), stay(), openCalls)[Symbol.asyncIterator](),
    )
    for (const answer of answers) t.match(await answer.next(), { value: head })
    const ends = answers.map((answer) => answer.next().catch((fault: unknown) => fault))
    openCalls.shutDown()
    for (const end of ends) t.match(fieldsOf(await end), fieldsOf(streamInterrupted('shutdown', true)))
    t.same(seen, ['shutdown', 'shutdown'])
  })

  for (const stream of [true, false])
    t.test(
      `an edge that stops ends also what a client has left and a proxy reads on (stream: ${stream})`,
      async (t) => {
        const seen: string[] = []
        const dispatch = await serving(t, untilEnded(seen))
        const openCalls = new OpenCalls()
        const gone = new AbortController()
        const answer = dispatch(routedCall({ stream }), gone.signal, openCalls)[Symbol.asyncIterator]()
        await answer.next()
        const rest = answer.next().catch((fault: unknown) => fault)
        gone.abort()
        await until(() => seen.length === 1)
        openCalls.shutDown()
        await until(() => seen.length === 2)
        t.same(seen, ['client gone', 'shutdown'])
        t.ok(await rest)
      },
    )

  t.test('a reader that returns early ends the upstream', async (t) => {
    let ended = false
    const dispatch = await serving(t, async function* () {
      try {
        yield head
        for (;;) yield bytesPart(Buffer.alloc(100_000))
      } finally {
        ended = true
      }
    })
    for await (const part of dispatch(routedCall(), stay())) if (part.type === 'bytes') break
    await until(() => ended)
  })

  t.test('20 MB pass both ways', async (t) => {
    const large = 'ü'.repeat(10 * megabyte)
    const dispatch = await serving(t, ({ body }) => answerOf([Buffer.from(String(body['text']))]))
    const { bytes, fault } = await hear(dispatch(routedCall({ body: { text: large } }), stay()))
    t.equal(fault, undefined)
    t.ok(bytes.equals(Buffer.from(large)))
  })

  t.test('200 calls at once do not mix', async (t) => {
    const sizeOf = (index: number): number => (index * 977) % 150_000
    const dispatch = await serving(t, async function* ({ body }) {
      const index = Number(body['index'])
      yield head
      for (const part of [0, 1, 2]) {
        await delay(index % 5)
        yield bytesPart(Buffer.alloc(sizeOf(index), `${index}.${part} `))
      }
    })
    const expected = (index: number): Buffer =>
      Buffer.concat([0, 1, 2].map((part) => Buffer.alloc(sizeOf(index), `${index}.${part} `)))
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) => hear(dispatch(routedCall({ body: { index } }), stay()))),
    )
    t.ok(answers.every(({ bytes, fault }, index) => fault === undefined && bytes.equals(expected(index))))
  })
}
