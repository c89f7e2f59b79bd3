import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startGateway } from '../../src/cli/gateway.ts'
import { readConfig } from '../../src/config/config.ts'
import { until } from '../support/clients.ts'
import { prepareDataFolder } from '../support/clusters.ts'
import { runtime, temporaryFolder } from '../support/gateway.ts'
import { runProgram } from '../support/program.ts'

/** An expiry in the past is refused. */
const inSeconds = (seconds: number): string => new Date(runtime.clock() + seconds * 1000).toISOString()

t.test('plans and credits that lapse through the command line, beside a running gateway', async (t) => {
  const folder = await temporaryFolder(t)
  const dataFolder = join(folder, 'data')
  await prepareDataFolder(dataFolder)
  const running = await startGateway(readConfig({}, { dataFolder, port: 0 }), runtime, (fault) => t.fail(fault.message))
  t.teardown(() => running.stop())
  const gateway = (...words: readonly string[]) => runProgram(folder, dataFolder, ...words)
  const records = async (...words: readonly string[]): Promise<readonly ReturnType<JSON['parse']>[]> => {
    const { code, out, err } = await gateway(...words, '--json')
    if (code !== 0) throw new Error(`${words.join(' ')}: ${err}`)
    return out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
  }
  await gateway('workspace', 'open', 'acme')

  t.test('publish: what is wrong is named, and nothing is published', async (t) => {
    const publish = (...words: readonly string[]) => gateway('plan', 'publish', ...words)
    await writeFile(join(folder, 'wrong.json'), '{"requestsPerMinute":0,"tokens":5}')
    await writeFile(join(folder, 'broken.json'), '{')
    t.match(await publish('pro'), { code: 2, err: /--price/ })
    t.match(await publish('pro', '--price', '-1'), { code: 2, err: /zero or more/ })
    t.match(await publish('pro', '--price', '1', '--limits-file', 'broken.json'), { code: 2, err: /broken\.json/ })
    const { code, err } = await publish('a plan', '--price', '1', '--limits-file', 'wrong.json')
    t.equal(code, 2)
    for (const problem of [/planId/, /limits\.requestsPerMinute must be >= 1/, /limits\.tokens is not known/])
      t.match(err, problem)
    await writeFile(join(folder, 'spend.json'), '{"spend":{"day":"1"}}')
    t.match(await publish('pro', '--price', '1', '--limits-file', 'spend.json'), {
      code: 2,
      err: /limits\.spend is not of a plan: spend limits are those of a key/,
    })
    t.same(await records('plan', 'list'), [])
  })

  t.test('subscribe, show, cancel: each can be repeated', async (t) => {
    await writeFile(join(folder, 'limits.json'), '{"requestsPerMinute":60}')
    const pro = ['plan', 'publish', 'pro', '--name', 'Pro', '--price', '20.00', '--credit', '5'] as const
    t.match(await records(...pro, '--limits-file', 'limits.json'), [
      { plan: 'pro', name: 'Pro', price: '20', period: 'month', credit: '5', limits: '{"requestsPerMinute":60}' },
    ])
    t.match(await gateway(...pro, '--limits-file', 'limits.json'), { code: 0, err: /unchanged: the same terms/ })
    t.match(await gateway('plan', 'subscribe', 'acme', 'none'), { code: 1, err: /no plan none/ })
    t.match(await gateway('plan', 'subscribe', 'acme', 'pro'), {
      code: 1,
      err: /fee of 20 USD is not covered: 0 USD/,
    })
    t.match(await gateway('plan', 'show', 'acme'), { code: 0, out: '', err: /has no plan/ })
    await gateway('credit', 'acme', '100', '--reference', 'invoice-1')
    const [subscribed] = await records('plan', 'subscribe', 'acme', 'pro')
    t.match(subscribed, { workspace: 'acme', subscription: /^sub_/, plan: 'pro', price: '20', renews: true })
    t.match(await gateway('plan', 'subscribe', 'acme', 'pro'), { code: 0, err: /nothing was added/ })
    t.same(await records('plan', 'show', 'acme'), [subscribed])
    t.match(await records('workspace', 'show', 'acme'), [
      { fees: '20', credits: '105', balance: '85', lapsing: '5', lapses_from: subscribed.expires_at },
    ])
    t.match(await records('plan', 'cancel', 'acme'), [{ renews: false }])
    t.match(await gateway('plan', 'cancel', 'acme'), { code: 0, err: /nothing was added/ })
    const anew = ['plan', 'subscribe', 'acme', 'pro', '--id', 'sub_2', '--no-renew'] as const
    t.match(await records(...anew), [{ subscription: 'sub_2', renews: false }])
    t.match(await gateway(...anew), { code: 0, err: /nothing was added/ })
    const lines = await records('statement', 'acme', '--from-log')
    const fees = lines.filter(({ kind, type }) => type === 'movement' && kind === 'fee')
    t.match(fees, [
      { amount: '-20', reference: `${subscribed.subscription}@${subscribed.starts_at}` },
      { amount: '-20', reference: /^sub_2@/ },
    ])
    t.match(lines.at(-1), { type: 'closing', balance: '70' })
  })

  t.test('a credit lapses', async (t) => {
    await gateway('workspace', 'open', 'beta')
    const credit = ['credit', 'beta', '7', '--reference', 'promotion', '--expires'] as const
    t.match(await gateway(...credit, '2026-02-30'), { code: 2, err: /an instant such as/ })
    t.match(await records(...credit, '2100-01-01'), [
      { balance: '7', lapsing: '7', lapses_from: '2100-01-01T00:00:00.000Z' },
    ])
    await gateway('credit', 'beta', '2', '--reference', 'soon', '--expires', inSeconds(8))
    await until(async () => (await records('workspace', 'show', 'beta'))[0].lapsed === '2')
    t.match(await records('workspace', 'show', 'beta'), [{ credits: '9', balance: '7', lapsing: '7' }])
  })
})
