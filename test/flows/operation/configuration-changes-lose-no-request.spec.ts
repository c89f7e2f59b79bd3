import { rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startSandbox } from '../../../sandbox/server.ts'
import { startGateway } from '../../../src/cli/gateway.ts'
import { readConfig } from '../../../src/config/config.ts'
import { Clients, chat, chatBody, until } from '../../support/clients.ts'
import { prepareDataFolder } from '../../support/clusters.ts'
import { openOperator, runtime, temporaryFolder, untilKeyIsKnown } from '../../support/gateway.ts'
import { recordingLogger } from '../../support/log-lines.ts'
import { scrape } from '../../support/metrics.ts'

const firstToken = 'first-admin-token-of-at-least-32-characters'
const secondToken = 'second-admin-token-of-at-least-32-characters'
const sheet = { currency: 'USD', per_million_tokens: { input: '1', output: '2' }, max_output_tokens: 1_000 }
const priceOf = (model: string) => ({ model, effective_from: '2026-01-01T00:00:00Z', source: 'a test', sheet })

t.test('providers, routers, prices, limits, the log level and admin tokens change under load', async (t) => {
  const folder = await temporaryFolder(t)
  const sandbox = await startSandbox(runtime)
  t.teardown(() => sandbox.stop())
  const provider = { dialect: 'openai', base_url: sandbox.url, api_key: 'sk-upstream' }
  const base = {
    data_folder: join(folder, 'data'),
    providers: { one: provider } as object,
    aliases: { plain: 'one/m' },
    admin: { tokens: [{ name: 'ana', token: firstToken }] },
    listen: { port: 0 },
    observe: { port: 0 },
    log_level: 'warn',
  }
  let versions = 0
  /** As a ConfigMap is replaced: the path leads to another folder, and all its files change in one step. */
  const change = async (content: object | string, models: readonly string[] = ['one/m']): Promise<void> => {
    versions += 1
    const present = join(folder, `version-${versions}.yaml`)
    const prices = join(folder, `prices-${versions}.json`)
    await writeFile(present, typeof content === 'string' ? content : JSON.stringify({ ...content, prices }))
    await writeFile(prices, JSON.stringify({ prices: models.map(priceOf) }))
    await symlink(present, join(folder, 'link'))
    await rename(join(folder, 'link'), join(folder, 'gateway.yaml'))
  }
  await change(base)
  const config = readConfig({}, { file: join(folder, 'gateway.yaml') })
  await prepareDataFolder(config.dataFolder)
  const logger = recordingLogger()
  const levels: string[] = []
  const setLogLevel = (level: string): void => void levels.push(level)
  const gateway = await startGateway(config, { ...runtime, logger, setLogLevel }, (fault) => t.fail(fault.message))
  const operator = await openOperator(config)
  t.teardown(async () => {
    await operator.stop()
    await gateway.stop()
  })
  const account = await operator.openAccount('acme', '100')
  await untilKeyIsKnown(gateway.url, account)
  const ask = (model: string) => chat(gateway.url, account.secret, chatBody(model, true))
  const served = (model: string) => until(async () => (await ask(model)).status === 200)
  await served('plain')
  const clients = new Clients(2, () => ask('plain'))
  t.teardown(() => clients.stop().then(() => undefined))
  const askAdmin = async (token: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`${gateway.url}/admin/v1/workspaces`, { headers })
    await response.body?.cancel()
    return response.status
  }
  const linesOf = (event: string) => logger.lines.filter((line) => line.event === event)
  const configuration = async () => {
    const response = await fetch(`${gateway.observeUrl}/readyz`)
    return ((await response.json()) as { readonly checks: object }).checks
  }

  t.equal(await askAdmin(firstToken), 200)
  const added = {
    ...base,
    providers: { one: provider, two: provider },
    aliases: { plain: 'two/m', other: 'two/m' },
    routers: { auto: { candidates: ['two/m', 'one/m'] } },
    admin: { tokens: [{ name: 'ana', token: secondToken }] },
    log_level: 'error',
    limits: { requests_per_minute: 1_000_000 },
  }
  await change(added, ['one/m', 'two/m'])
  await until(async () => (await askAdmin(firstToken)) === 401, 1_000)
  t.equal(await askAdmin(secondToken), 200)
  for (const model of ['other', 'gateway/auto', 'two/m']) await served(model)
  t.same(levels, ['error'])
  t.same(linesOf('config.reloaded')[0]?.fields, {
    members: ['providers', 'aliases', 'admin', 'log_level', 'prices', 'routers', 'limits.requests_per_minute'],
  })
  const limits = await fetch(`${gateway.url}/admin/v1/workspaces/acme/limits`, {
    headers: { authorization: `Bearer ${secondToken}` },
  })
  t.match(await limits.text(), /1000000/)

  await change('providers: [', ['one/m', 'two/m'])
  await until(async () => (await scrape(gateway.observeUrl)).value('gateway_config_rejected') === 1)
  t.match(await configuration(), { configuration: { ok: true, reason: /the former one serves on: .*\n.*not YAML/ } })
  t.equal(linesOf('config.rejected').length, 1)
  const shown = await fetch(`${gateway.url}/admin/v1/workspaces/acme/ledger/health`, {
    headers: { authorization: `Bearer ${secondToken}` },
  })
  t.match(await shown.json(), { ready: true, checks: { configuration: { ok: true, reason: /not YAML/ } } }, 'the page')
  await served('other')
  t.equal(await askAdmin(secondToken), 200)

  await change({ ...added, providers: { two: provider }, aliases: { plain: 'two/m' }, routers: {}, tags: ['team'] }, [
    'two/m',
  ])
  await until(async () => (await ask('other')).status === 404)
  t.equal((await ask('one/m')).status, 404, 'a removed provider gets no further request')
  t.equal((await scrape(gateway.observeUrl)).value('gateway_config_rejected'), 0)
  t.match(await configuration(), { configuration: { ok: true, reason: undefined } })
  t.same(linesOf('config.restart_needed')[0]?.fields, { members: ['tags'] })
  t.same(
    linesOf('config.reloaded').at(-1)?.fields,
    { members: ['providers', 'aliases', 'routers', 'prices'] },
    'and not tags',
  )
  t.equal(linesOf('config.usable').length, 1)

  const journal = await clients.stop()
  t.ok(journal.length > 0)
  t.same(
    journal.filter(({ status, complete }) => status !== 200 || !complete),
    [],
    'no request was lost',
  )
  const events = await operator.events()
  const published = events.filter(({ type }) => type === 'PricePublished')
  t.same(published.map(({ data }) => (data as { readonly model: string }).model).sort(), ['one/m', 'two/m'])
  t.notMatch(JSON.stringify(logger.lines), /admin-token|sk-upstream/)
})
