import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startGateway } from '../../src/cli/gateway.ts'
import { readConfig } from '../../src/config/config.ts'
import { until } from '../support/clients.ts'
import { prepareDataFolder } from '../support/clusters.ts'
import { runtime, temporaryFolder } from '../support/gateway.ts'
import { type Ended, runProgram } from '../support/program.ts'

interface List {
  readonly data: readonly Readonly<Record<string, unknown>>[]
}

t.test('workspaces, keys, aliases, routers and imported prices through the command line', async (t) => {
  const folder = await temporaryFolder(t)
  const dataFolder = join(folder, 'data')
  await prepareDataFolder(dataFolder)
  const running = await startGateway(readConfig({}, { dataFolder, port: 0 }), runtime, (fault) => t.fail(fault.message))
  t.teardown(() => running.stop())
  const gateway = (...words: readonly string[]): Promise<Ended> => runProgram(folder, dataFolder, ...words)
  const tokenFile = join(dataFolder, 'admin-token')
  const token = (await readFile(tokenFile, 'utf8')).trim()
  t.equal(running.newAdminToken, token, 'the data folder has an administrator of its own')
  t.equal((await stat(tokenFile)).mode & 0o777, 0o600)
  const asks = async (path: string): Promise<List['data']> => {
    const headers = { authorization: `Bearer ${token}` }
    return ((await (await fetch(`${running.url}/admin/v1/${path}`, { headers })).json()) as List).data
  }

  t.match(await gateway('workspace', 'change', 'demo', '--credit-limit', '5', '--json'), {
    code: 0,
    out: '"credit_limit":"5"',
  })
  t.match(await gateway('credit', 'demo', '1', '--reference', 'r', '--expires', '2020-01-01'), {
    code: 2,
    err: /is over/,
  })
  const before = JSON.parse((await gateway('workspace', 'show', 'demo', '--json')).out).balance
  await gateway('credit', 'demo', '2500', '--reference', 'invoice 7')
  t.match(await gateway('credit', 'demo', '-250', '--reference', 'r'), { code: 2, err: /gateway adjust/ })
  const adjust = (amount: string, ...words: readonly string[]) => gateway('adjust', 'demo', amount, ...words, '--json')
  const typo = ['--reason', 'correction', '--reference', 'ticket-1', '--of', 'credit:invoice 7', '--note', 'a typo']
  t.match(await adjust('-2500.01', ...typo), { code: 1, err: /at most -2500 USD/ })
  t.match(await adjust('-2250', ...typo), { code: 0, out: /"adjustments":"-2250"/ })
  t.match(await adjust('-2250', ...typo), { code: 0, err: /used before/ })
  t.match(await adjust('-250', '--reason', 'correction', '--reference', 'ticket-2', '--of', 'credit:invoice 7'), {
    code: 0,
    out: `"balance":"${before}"`,
  })
  t.match(await adjust('1', '--reason', 'refund', '--reference', 'ticket-3', '--of', 'req_unknown'), {
    code: 1,
    err: /no request, task or adjustment with the id req_unknown/,
  })
  t.match(await adjust('1', '--reason', 'chargeback', '--reference', 'ticket-3'), { code: 2, err: /takes money/ })
  t.match(await adjust('-1', '--reason', 'refund', '--reference', 'ticket-3'), { code: 2, err: /gives money back/ })
  t.match(await adjust('0', '--reason', 'correction', '--reference', 'ticket-3'), { code: 2, err: /must not be zero/ })
  t.match(await adjust('1.', '--reason', 'refund', '--reference', 'ticket-3'), { code: 2, err: /<usd>|amount/ })
  t.match(await adjust('1', '--reference', 'ticket-3'), { code: 2, err: /--reason/ })
  t.match(await adjust('1', '--reason', 'goodwill', '--reference', ''), { code: 2, err: /reference must not be empty/ })
  await until(async () => {
    const [newest] = await asks('workspaces/demo/adjustments')
    return newest?.['id'] === 'operator:ticket-2' && newest['of'] === 'credit:invoice 7'
  })
  t.match((await gateway('statement', 'demo', '--json')).out, /operator:ticket-1/)

  const issued = await gateway('key', 'issue', 'demo', '--name', 'ci', '--expires', '2099-01-01', '--json')
  const { key } = JSON.parse(issued.out) as { key: string }
  t.match(await gateway('key', 'rotate', key), { code: 2, err: /--grace/ })
  const rotated = await gateway('key', 'rotate', key, '--grace', '3600', '--json', '--actor', 'ana')
  const fresh = JSON.parse(rotated.out)
  t.match(fresh, { replaces: key, secret: /^sk-/ })
  const listed = (await gateway('key', 'list', 'demo', '--json')).out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(
    listed.filter((each) => [key, fresh.key].includes(each.key)),
    [
      { key, spent_day: null, spent_month: null, spent_total: null, spent_with: fresh.key },
      { key: fresh.key, spent_day: '0', spent_total: '0', spent_with: null },
    ],
    'what keys that share their limits spent together stands in one row',
  )
  t.match(await gateway('key', 'rotate', key, '--grace', '0'), { code: 1, err: /rotated before/ })
  t.match(await gateway('key', 'expire', key, '2098-01-01'), { code: 0, err: /^set/ })

  t.match(await gateway('alias', 'set', 'quick', 'openai/gpt-4o-mini'), { code: 0, err: /^set/ })
  t.match(await gateway('alias', 'set', 'slow', 'openai/nope'), {
    code: 0,
    err: /^set\nwarning: `openai\/nope` leads to no model yet/,
  })
  t.match(await gateway('alias', 'set', 'quick', 'nobody/x'), { code: 1, err: /names no configured provider/ })
  t.match(
    (await gateway('alias', 'list', '--json')).out,
    '{"alias":"quick","model":"openai/gpt-4o-mini","source":"log"}',
  )
  t.match(await gateway('alias', 'unset', 'quick'), { code: 0, err: /override removed/ })
  t.match(await gateway('router', 'set', 'mine', '--weighted', 'openai/gpt-4o-mini=3', 'gpt-4o'), {
    code: 0,
    err: /^set/,
  })
  t.match(await gateway('router', 'set', 'mine', 'gpt-4o=0'), { code: 2, err: /weight must be >= 1/ })
  t.match(await asks('routers'), [
    { router: 'auto', source: 'configuration' },
    { router: 'mine', order: 'weighted', candidates: [{ weight: 3 }, { model: 'gpt-4o', weight: 1 }] },
  ])

  const table = join(folder, 'litellm.json')
  const chat = { litellm_provider: 'openai', mode: 'chat', max_output_tokens: 10, output_cost_per_token: 2e-6 }
  const ours = { ...chat, input_cost_per_token: 1e-6 }
  const theirs = { ...ours, input_cost_per_image: 1 }
  await writeFile(table, JSON.stringify({ ours, theirs, far: { ...ours, litellm_provider: 'bedrock' }, bad: 1 }))
  const dry = await gateway('prices', 'import', table, '--dry-run')
  t.match(dry, { code: 0, out: /added +openai\/ours/, err: /^1 of providers that are not configured/ })
  t.match(dry.out, /unsupported +openai\/theirs +input_cost_per_image cannot be expressed/)
  t.match(dry.out, /unsupported +bad +is no object/)
  const empty = join(folder, 'empty.json')
  for (const text of ['{}', '{"bad":1}', '{"bad":{"input_cost_per_token":1}}']) {
    await writeFile(empty, text)
    t.match(
      await gateway('prices', 'import', empty, '--dry-run'),
      { code: 2, out: '', err: /empty\.json holds no price: no member of it names its litellm_provider/ },
      text,
    )
  }
  t.match(await gateway('prices', 'import', table, '--model', 'openai/theirs'), { code: 1, err: /openai\/theirs/ })
  t.match(await gateway('prices', 'import', table), { code: 0, err: /1 published/ })

  await until(async () => (await asks('events?type=PricePublished&limit=1'))[0]?.['subject'] === 'openai/ours')
  t.match(await asks('events?workspace=demo&type=KeyIssued&limit=2'), [
    { actor: 'operator:ana' },
    { actor: /^operator:\w/ },
  ])
})
