import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createServerErrorReader } from '../../../src/adapters/nats/server-health.ts'

interface Monitoring {
  readonly url: string
  readonly questions: number
}

const startMonitoring = async (t: Test, answer: string): Promise<Monitoring> => {
  let questions = 0
  const server = createServer((_, response) => {
    questions += 1
    response.end(answer)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get questions() {
      return questions
    },
  }
}

t.test('all who ask at once are given the answer to one question; whoever asks later, to a new one', async (t) => {
  const error = 'JetStream stream: write error on /data/streams/1.blk: no space left on device'
  const monitoring = await startMonitoring(t, JSON.stringify({ status: 'error', error }))
  const ask = createServerErrorReader(monitoring.url)
  const said = await Promise.all(Array.from({ length: 20 }, ask))
  t.same(new Set(said), new Set(['JetStream stream: write error on: no space left on device']))
  t.equal(monitoring.questions, 1)
  await ask()
  t.equal(monitoring.questions, 2)
})

for (const [what, answer] of [
  ['all is well', '{"status":"ok"}'],
  ['the error is no text', '{"status":"error","error":{"code":1}}'],
  ['the answer is no object', 'null'],
  ['the answer is no JSON', 'oops'],
] as const)
  t.test(`where ${what}, nothing is said`, async (t) => {
    const { url } = await startMonitoring(t, answer)
    t.equal(await createServerErrorReader(url)(), null)
  })

t.test('where no server answers, or none is known, nothing is said', async (t) => {
  t.equal(await createServerErrorReader('http://127.0.0.1:9')(), null)
  t.equal(await createServerErrorReader(undefined)(), null)
})
