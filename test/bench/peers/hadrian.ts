import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { answeredModel } from '../content.ts'
import { type Peer, type Place, usdPerMillion } from './peer.ts'

const unitsOfUsd = 1e6 // It sums whole millionths.
const unlimited = 1_000_000_000

const configOf = ({ port, upstreamUrl, databaseUrl }: Place): string => `
[server]
host = "127.0.0.1"
port = ${port}
allow_loopback_urls = true
[database]
type = "postgres"
url = "${databaseUrl}"
[cache]
type = "memory"
[auth.mode]
type = "api_key"
[auth.bootstrap.initial_org]
slug = "bench"
name = "bench"
[auth.bootstrap.initial_api_key]
name = "bench"
[features.model_catalog]
enabled = false
[limits.rate_limits]
requests_per_minute = ${unlimited}
tokens_per_minute = ${unlimited}
concurrent_requests = ${unlimited}
[limits.rate_limits.ip_rate_limits]
enabled = false
[limits.budgets]
monthly_budget_usd = "100000"
[providers]
default_provider = "mock"
[providers.mock]
type = "open_ai"
api_key = "sk-bench"
base_url = "${upstreamUrl}/v1"
[providers.mock.models."${answeredModel}"]
input_per_1m_tokens = ${usdPerMillion.input * unitsOfUsd}
cached_input_per_1m_tokens = ${usdPerMillion.cachedInput * unitsOfUsd}
output_per_1m_tokens = ${usdPerMillion.output * unitsOfUsd}
`

const configFile = 'hadrian.toml'

export const hadrian: Peer = {
  name: 'hadrian',
  program: 'hadrian/bin/hadrian',
  hasDatabase: true,
  configure: async (place) => {
    const config = join(place.folder, configFile)
    await writeFile(config, configOf(place))
    return {
      file: join(place.installed, 'hadrian'),
      args: ['--config', config, '--no-browser', 'serve'],
      environment: { RUST_LOG: 'warn' },
    }
  },
  readyPath: '/health',
  asked: async ({ installed, folder }) => {
    const words = ['--config', join(folder, configFile), 'bootstrap']
    const { stdout, stderr } = await promisify(execFile)(join(installed, 'hadrian'), words, { cwd: folder })
    const key = /\bgw_[\w-]+/.exec(stdout + stderr)?.[0]
    if (key === undefined) throw new Error(`hadrian has made no key:\n${stdout}${stderr}`)
    return { key, model: `mock/${answeredModel}`, prefix: '/api' }
  },
  billsQuery: `select count(*) as bills, sum(cost_microcents) / ${unitsOfUsd}::numeric as usd from usage_records`,
  admittedQuery: null,
}
