import t from 'tap'
import { UndiciClient } from '../../../src/infrastructure/http/client.ts'
import { proxy } from '../../../src/roles/proxy/role.ts'
import type { Dispatch } from '../../../src/roles/role.ts'
import { billOf, callOf, hear, providerKey, startBench, stay } from './forwarding.ts'

t.test('the manifest', async (t) => {
  t.strictSame([proxy.name, proxy.emits], ['proxy', ['UsageRecorded', 'RequestFailed', 'AdjustmentPosted']])
})

t.test('a proxy that stops finishes what is in flight', async (t) => {
  const bench = await startBench(t)
  const http = new UndiciClient()
  t.teardown(() => http.stop())
  const ignore = (): void => undefined
  const served = Promise.withResolvers<Dispatch>()
  const running = await proxy.start({
    log: bench.log,
    http,
    clock: Date.now,
    logger: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    providers: new Map([
      [
        'openai',
        { name: 'openai', dialect: 'openai', profile: 'openai', baseUrl: bench.sandbox.url, apiKey: providerKey },
      ],
    ]),
    calls: {
      serve: (dispatch) => {
        served.resolve(dispatch)
        return { stop: async () => undefined }
      },
    },
  })
  const dispatch = await served.promise
  const answer = hear(dispatch(callOf('openai/a;chunk_delay_ms=20', { stream: true }), stay()))
  while (bench.sandbox.calls().length === 0) await new Promise(setImmediate)
  await running.stop()
  t.match(billOf(t, bench), { outcome: 'completed' })
  t.match((await answer).text, /DONE/)
})
