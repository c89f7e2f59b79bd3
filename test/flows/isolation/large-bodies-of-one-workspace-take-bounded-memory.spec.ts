import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { growthOf, MemoryWatch } from '../../bench/memory.ts'
import { until } from '../../support/clients.ts'
import { untilKeyIsKnown } from '../../support/gateway.ts'
import { startGatewayApart } from '../../support/gateway-apart.ts'
import { inLongForm } from '../../support/long-form.ts'

const megabyte = 1024 * 1024
const bodyBytes = 19 * megabyte
const openMax = Math.floor(sharedLimits.workspaceOpenBytesMax / bodyBytes)
/** As many as are refused as are taken, nearly. */
const bodies = 2 * openMax - 1
/** Of the bound in bytes: what is received, what is sent upstream, and what the collector has not taken yet. */
const timesMax = 9
/** Both halves of V8's: they fill up with what any requests leave, however many bytes there are. */
const newGenerationBytes = 2 * 64 * megabyte

const padded = (before: string, after: string): Buffer =>
  Buffer.from(before + 'a'.repeat(bodyBytes - before.length - after.length) + after)

/** The largest texts, and as many members as there may be beside one. */
const kinds: Readonly<Record<string, Buffer>> = {
  'one text': padded('{"model":"openai/plain","messages":[{"role":"user","content":"', '"}]}'),
  'many members': padded(
    `{"model":"openai/plain","messages":[${'{"role":"user","content":"hi"},'.repeat(33_000)}{"role":"user","content":"`,
    '"}]}',
  ),
}

t.test('beyond its budget of bytes a workspace is refused, and takes no more memory', async (t) => {
  let received = 0
  const upstream = createServer((request) => {
    request.resume().once('end', () => {
      received += 1
    })
  })
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  t.teardown(() => {
    upstream.closeAllConnections()
    upstream.close()
  })
  const { port } = upstream.address() as AddressInfo
  const { process: gateway, operator } = await startGatewayApart(t, { upstreamUrl: `http://127.0.0.1:${port}` })
  for (const [kind, body] of inLongForm(Object.entries(kinds), ([kind]) => kind === 'many members')) {
    const account = await operator.openAccount(kind.replace(' ', '-'), '100000') // What its client left goes on until it is answered.
    await untilKeyIsKnown(gateway.url, account)
    received = 0
    let refused = 0
    const memory = new MemoryWatch(gateway.pid)
    const leave = new AbortController()
    const send = async (): Promise<void> => {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${account.secret}`, 'content-type': 'application/json' },
        body,
        signal: leave.signal,
      })
      t.equal(response.status, 429)
      t.match(await response.json(), { error: { code: 'byte_limit_exceeded' } })
      refused += 1
    }
    const sent = Array.from({ length: bodies }, () => send().catch(() => undefined))
    await until(() => received + refused === bodies)
    t.equal(received, openMax, kind)
    const times = (growthOf(memory.stop()) - newGenerationBytes) / sharedLimits.workspaceOpenBytesMax
    t.ok(times < timesMax, `${kind}: ${times.toFixed(1)} times the bound`)
    leave.abort()
    await Promise.all(sent)
  }
})
