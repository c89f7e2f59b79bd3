import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { startGateway } from '../../src/cli/gateway.ts'
import { readConfig } from '../../src/config/config.ts'
import { until } from '../support/clients.ts'
import { runtime, temporaryFolder } from '../support/gateway.ts'
import { type Ended, runProgram, startProgram } from '../support/program.ts'

const gateway = (folder: string, ...words: readonly string[]): Promise<Ended> =>
  runProgram(folder, join(folder, 'data'), ...words)

t.test('accounts, credit, keys and prices through the command line, beside a running gateway', async (t) => {
  const folder = await temporaryFolder(t)
  const config = readConfig({}, { dataFolder: join(folder, 'data'), port: 0 })
  const running = await startGateway(config, runtime, (fault) => t.fail(fault.message))
  t.teardown(() => running.stop())

  t.match(await gateway(folder, 'workspace', 'open', 'acme', '--name', 'Acme', '--json'), {
    code: 0,
    out: '"balance":"0"',
  })
  t.match(
    await gateway(folder, 'workspace', 'open', 'acme', '--name', 'Acme'),
    { code: 0 },
    'opening again does nothing',
  )
  t.match(await gateway(folder, 'workspace', 'open', 'acme', '--name', 'Other'), { code: 1, err: /another name/ })
  t.match(await gateway(folder, 'workspace', 'open', 'No Spaces'), { code: 2, err: /lower-case/ })
  t.match(await gateway(folder, 'workspace', 'show', 'nobody'), { code: 1, err: /no such workspace/ })
  const shown = await gateway(folder, 'workspace', 'callback-secret', 'acme', '--json')
  t.match(JSON.parse(shown.out), { workspace: 'acme', callback_secret: /^whsec_[\w+/]{43}=$/ })
  t.same(await gateway(folder, 'workspace', 'callback-secret', 'acme', '--json'), shown, 'it stays the same')
  t.match(await gateway(folder, 'workspace', 'callback-secret', 'nobody'), { code: 1, err: /no such workspace/ })

  t.match(
    await gateway(folder, 'credit', 'acme', '12.3456789012345', '--reference', 'invoice-7', '--json').then(
      ({ code }) => code,
    ),
    2,
    'too many decimals',
  )
  t.match(await gateway(folder, 'credit', 'acme', '12.345678901', '--reference', 'invoice-7', '--json'), {
    code: 0,
    out: '"balance":"12.345678901"',
  })
  t.match(await gateway(folder, 'credit', 'acme', '12.345678901', '--reference', 'invoice-7', '--json'), {
    code: 0,
    out: '"balance":"12.345678901"',
    err: /nothing was added/,
  })
  t.match(await gateway(folder, 'credit', 'acme', '13', '--reference', 'invoice-7'), {
    code: 1,
    err: /12.345678901 USD before, not 13/,
  })
  t.match(await gateway(folder, 'credit', 'acme', '-1', '--reference', 'x'), { code: 2, err: /zero or more/ })
  t.match(await gateway(folder, 'credit', 'acme', '0', '--reference', 'x'), { code: 2, err: /above zero/ })
  t.match(await gateway(folder, 'credit', 'acme', '1'), { code: 2, err: /--reference/ })

  const issued = await gateway(folder, 'key', 'issue', 'acme', '--name', 'ci', '--json')
  const { key, secret } = JSON.parse(issued.out) as { key: string; secret: string }
  t.match(secret, /^sk-[\w-]{48}$/)
  t.match(await gateway(folder, 'key', 'issue', 'acme', '--name', 'ci'), { code: 1, err: /cannot be shown again/ })
  const listed = await gateway(folder, 'key', 'list', 'acme')
  t.match(listed.out, key)
  t.notMatch(listed.out, secret)
  const models = (): Promise<Response> =>
    fetch(`${running.url}/v1/dashboard/billing/usage`, { headers: { authorization: `Bearer ${secret}` } })
  await until(async () => (await models()).status !== 503) // The tables of a new log are made while it serves.
  t.equal((await models()).status, 200)
  t.match(await gateway(folder, 'key', 'revoke', key), { code: 0, err: /^revoked/ })
  t.match(await gateway(folder, 'key', 'revoke', key), { code: 0, err: /before/ })
  t.equal((await models()).status, 401)
  t.match(await gateway(folder, 'key', 'revoke', 'key_x'), { code: 1, err: /no such key/ })

  t.match(
    await gateway(folder, 'prices', 'publish'),
    { code: 0, err: /^0 published/ },
    'the shipped prices stand already',
  )
  t.match(await gateway(folder, 'prices', 'show', 'openai/gpt-4o-mini', '--json'), { code: 0, out: '"input":"0.15"' })
  const many = await gateway(folder, 'prices', 'show', 'openai/gpt-5-mini')
  t.match(many.out, /^image_generation_gpt-image-1_low_1024x1024 +0\.011$/m)
  const widest = Math.max(...many.out.split('\n').map((line) => line.length))
  t.ok(widest <= 200, `lines that can be read: ${widest} characters`)
  t.match(await gateway(folder, 'prices', 'show', 'gpt-4o-mini'), { code: 1, err: /no price of gpt-4o-mini/ })
  t.match(await gateway(folder, 'key', 'list', 'nobody'), { code: 1, err: /no such workspace/ })
  const file = join(folder, 'ours.json')
  const entry = {
    model: 'openai/ours',
    effective_from: '2026-01-01T00:00:00Z',
    source: 'a test',
    sheet: { currency: 'USD', per_million_tokens: { input: '1', output: '2' }, max_output_tokens: 9 },
  }
  await writeFile(file, JSON.stringify({ prices: [entry] }))
  t.match(await gateway(folder, 'prices', 'publish', file), { code: 0, err: /^1 published/ })
  t.match(await gateway(folder, 'prices', 'publish', file), { code: 0, err: /^0 published/ })
  await writeFile(
    file,
    JSON.stringify({
      prices: [entry, entry, { ...entry, model: 'ours', sheet: { ...entry.sheet, per_million_tokens: { input: 1 } } }],
    }),
  )
  const wrong = await gateway(folder, 'prices', 'publish', file)
  t.equal(wrong.code, 2)
  t.match(wrong.err, /prices\[2\]/)
  for (const words of [['report'], ['export', 'focus']])
    t.match(await gateway(folder, ...words, '--month', '2999-01'), { code: 2, err: /2999-01 has not begun/ })
  t.match(await gateway(folder, 'close', '2001-01'), { code: 0, err: /nothing happened in 2001-01/ })
  await writeFile(join(folder, 'gateway.yaml'), 'tags: [team]\n')
  const byTeam = await gateway(folder, 'report', '--month', '2001-01', '--group-by', 'tag:team')
  t.match(byTeam, { code: 0, out: /tag:team +requests .*\ntotal / }, 'one that is configured and that no request has')
  const byTag = await gateway(folder, 'report', '--month', '2001-01', '--group-by', 'tag:teem')
  t.match(byTag, {
    code: 2,
    out: '',
    err: /No request has the tag `teem`, and it is not configured. Configured are: team/,
  })

  t.match(
    await gateway(folder, 'serve', '--port', '0'),
    { code: 1, err: /data/ },
    'a second gateway never opens the store',
  )
})

t.test('a configuration with mistakes: each with its path, exit 2, nothing started', async (t) => {
  const folder = await temporaryFolder(t)
  await writeFile(
    join(folder, 'gateway.yaml'),
    `listen: { port: 99999 }
providers:
  openai: { dialect: klingon, base_url: "ftp://x", api_key: "\${NO_SUCH_VARIABLE}" }
  gateway: { dialect: openai, base_url: "https://x", api_key: k }
aliases: { mini: gpt-4o-mini }
routers: { auto: { candidates: [] } }
colour: blue
`,
  )
  const { code, err } = await gateway(folder, 'serve')
  t.equal(code, 2)
  for (const path of [
    'listen.port',
    'providers.openai.dialect',
    'providers.openai.base_url',
    'providers.openai.api_key',
    'aliases.mini',
    'routers.auto.candidates',
    'colour',
  ])
    t.match(err, path)
  t.match(err, /NO_SUCH_VARIABLE is not set/)
  t.notOk(existsSync(join(folder, 'data')), 'nothing was started')

  await writeFile(join(folder, 'gateway.yaml'), 'providers: [')
  t.match(await gateway(folder, 'serve'), { code: 2, err: /gateway\.yaml/ })
  await writeFile(
    join(folder, 'gateway.yaml'),
    'providers:\n  a: { dialect: openai, base_url: "https://x", api_key: k }\nrouters: { auto: { candidates: [b/x] } }\nprices: ./none.json\n',
  )
  t.match(await gateway(folder, 'serve'), { code: 2, err: /b\/x.*names no configured provider/ })
})

t.test('variables stand bare in flow style, as people write them', async (t) => {
  const folder = await temporaryFolder(t)
  const file = join(folder, 'gateway.yaml')
  await writeFile(
    file,
    'providers:\n  a: { dialect: openai, base_url: https://x/v1/, api_key: ${SOME_KEY}, models: { m: n } }\n',
  )
  const { providers } = readConfig({ SOME_KEY: 'k: "1"' }, { file })
  t.match(providers, [{ name: 'a', apiKey: 'k: "1"', baseUrl: 'https://x/v1', models: { m: 'n' } }])
})

t.test('a port that is taken: told with its setting, and nothing is started', async (t) => {
  const folder = await temporaryFolder(t)
  const taken = createServer()
  t.teardown(() => taken.close())
  await new Promise<void>((resolve) => taken.listen({ host: '127.0.0.1', port: 0 }, resolve))
  const { port } = taken.address() as AddressInfo
  const refusal = (setting: string) => ({
    code: 1,
    out: '',
    err: new RegExp(`^port ${port} of 127\\.0\\.0\\.1 is taken by another process: choose another with ${setting}`),
  })
  const serving = (...words: readonly string[]) => gateway(folder, 'serve', ...words)
  t.match(await serving('--port', String(port), '--observe-port', '0'), refusal('--port, or `listen.port`'))
  t.match(await serving('--port', '0', '--observe-port', String(port)), refusal('--observe-port, or `observe.port`'))
  t.notOk(existsSync(join(folder, 'data', 'nats')), 'nothing was started')
})

t.test('usage', async (t) => {
  const folder = await temporaryFolder(t)
  t.match(await startProgram(folder, folder, '--help'), {
    code: 0,
    out: /workspace[\s\S]*credit[\s\S]*key[\s\S]*prices[\s\S]*replay/,
  })
  t.match(await gateway(folder, 'nonsense'), { code: 2, err: /nonsense/ })
  t.match(await gateway(folder, 'serve', '--port', 'http'), { code: 2, err: /port/ })
  t.match(await gateway(folder, 'nonsense'), { err: /unknown command/ })
  for (const words of [
    ['help', 'nope'],
    ['key', 'help', 'nope'],
  ])
    t.match(
      await gateway(folder, ...words),
      { code: 2, out: '', err: /^error: unknown command 'nope'\n/ },
      words.join(' '),
    )
  t.match(await gateway(folder, 'help', 'key'), { code: 0, out: /^Usage: gateway key/, err: '' })
  t.match(await gateway(folder, 'key'), { code: 2, err: /^Usage: / })
  t.match(await gateway(folder, 'serve', '--config', 'none.yaml'), { code: 2, err: /no such file/ })
  t.match(await gateway(folder, 'periods'), { code: 2, out: '', err: /there is no data folder .*data: .*--data/ })
  t.notOk(existsSync(join(folder, 'data')), 'and none is made')
})
