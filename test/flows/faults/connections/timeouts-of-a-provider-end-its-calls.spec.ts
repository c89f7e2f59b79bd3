import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { billOf, checkCharges } from '../../../support/bills.ts'
import { until } from '../../../support/clients.ts'
import { sheetOf } from '../../../support/gateway.ts'
import {
  type Behaviour,
  beginStream,
  closingEvents,
  startHostileUpstream,
  wordsEvent,
} from '../../../support/hostile-upstream.ts'
import { type Installation, installations } from '../../../support/installations.ts'

const timeouts = { connectMs: 400, firstByteMs: 500, idleMs: 600, answerMs: 2_500 }
const patientMs = 1_000

const answer = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'well' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Well', refusal: null }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
}

const serveWell: Behaviour = (response, { stream }) => {
  if (!stream) {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    return
  }
  beginStream(response)
  response.end(wordsEvent('Well') + closingEvents(7, 3))
}

const behaviours: Readonly<Record<string, Behaviour>> = {
  well: serveWell,
  silent: () => undefined,
  patient: async (response, asked) => {
    await pause(patientMs)
    await serveWell(response, asked)
  },
  stalls: (response, { stream }) => {
    if (stream) beginStream(response)
    else response.writeHead(200, { 'content-type': 'application/json' })
    response.write(stream ? wordsEvent('one two three ') : '{"id":')
  },
  endless: async (response, { stream }) => {
    if (stream) beginStream(response)
    else response.writeHead(200, { 'content-type': 'application/json' })
    while (!response.destroyed) {
      response.write(stream ? wordsEvent('more ') : ' ')
      await pause(50)
    }
  },
}

/** It accepts connections, and never begins TLS. */
const startUnreachable = async (t: Test): Promise<string> => {
  const server = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

const models = Object.fromEntries([...Object.keys(behaviours), 'unreachable'].map((name) => [name, name]))

const startWithTimeouts = async (t: Test, start: (typeof installations)[number]['start']): Promise<Installation> => {
  const provider = { dialect: 'openai', profile: 'openai', apiKey: 'sk-upstream-secret', models } as const
  const longer = { connectMs: 10_000, firstByteMs: 30_000, answerMs: 60_000 }
  return start(t, {
    models,
    sheets: { 'grok/unreachable': sheetOf() },
    config: {
      providers: [
        {
          ...{ ...provider, name: 'openai', baseUrl: await startHostileUpstream(t, behaviours) },
          timeouts: { ...timeouts, models: { patient: longer, well: longer } },
        },
        { ...provider, name: 'grok', baseUrl: await startUnreachable(t), timeouts: { connectMs: timeouts.connectMs } },
      ],
    },
  })
}

for (const { name, start } of installations)
  t.test(`a call upstream ends with the timeouts of its provider and its model (${name})`, async (t) => {
    const installation = await startWithTimeouts(t, start)
    const ask = async (chain: readonly string[], stream: boolean) => {
      const askedMs = performance.now()
      const response = await fetch(`${installation.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${installation.account.secret}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          ...{ model: chain[0], models: chain, route: 'fallback', stream, max_tokens: 64 },
          messages: [{ role: 'user', content: 'Say a few words about money.' }],
        }),
      })
      const text = await response.text()
      const bill = await billOf(installation, response.headers.get('x-gateway-request-id'))
      return { status: response.status, text, bill, tookMs: performance.now() - askedMs }
    }
    const served = { usage: { promptTotal: 7, outputTotal: 3 }, source: 'reported', outcome: 'completed' }

    for (const stream of [false, true]) {
      const how = stream ? 'streamed' : 'whole'
      const [unreachable, silent, patient, stalls, endless] = await Promise.all([
        ask(['grok/unreachable', 'openai/well'], stream),
        ask(['openai/silent', 'openai/well'], stream),
        ask(['openai/patient', 'openai/well'], stream),
        ask(['openai/stalls', 'openai/well'], stream),
        ask(['openai/endless', 'openai/well'], stream),
      ])
      t.match(unreachable, { status: 200, bill: served }, `${how}: the next candidate serves`)
      t.match(unreachable.bill.attempts, [{ reason: 'connect_timeout' }, { outcome: 'served' }])
      t.ok(unreachable.bill.attempts[0]!.durationMs >= timeouts.connectMs - 1)

      t.match(silent, { status: 200, bill: served })
      t.match(silent.bill.attempts, [{ reason: 'timeout' }, { outcome: 'served' }])
      const waitedMs = silent.bill.attempts[0]!.durationMs
      t.ok(waitedMs >= (stream ? timeouts.firstByteMs : timeouts.answerMs) - 1, `silence ended after ${waitedMs} ms`)

      t.match(patient, { status: 200, bill: served })
      t.match(patient.bill.attempts, [{ model: 'openai/patient', outcome: 'served' }], 'its model may take longer')
      t.equal(patient.bill.attempts.length, 1)

      for (const late of [stalls, endless]) {
        t.comment(`${how}: ${Math.round(late.tookMs)} ms`, late.bill.attempts)
        t.equal(late.status, 200)
        if (stream) {
          t.match(late.text, /"code":"upstream_timeout"/, 'after the first byte an error in the stream')
          t.match(late.bill, { outcome: 'interrupted', source: 'estimated' }, 'what was delivered is charged')
          t.match(late.bill.attempts, [{ outcome: 'served', reason: 'timeout' }])
        } else t.match(late.bill.attempts, [{ reason: 'timeout' }, { outcome: 'served' }])
      }
      t.ok(stalls.bill.attempts[0]!.durationMs >= timeouts.idleMs - 1)
      t.ok(endless.bill.attempts[0]!.durationMs >= timeouts.answerMs - 1)
    }
    await until(() => installation.operator.tail.ledger.wallets.get('acme')!.heldPicos === 0n)
    await checkCharges(t, installation)
  })
