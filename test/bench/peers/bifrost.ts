import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { answeredModel } from '../content.ts'
import { type Peer, usdPerMillion } from './peer.ts'

const virtualKey = 'sk-bf-bench'
const aMillion = 1e6

const priceSheet = {
  [answeredModel]: {
    provider: 'openai',
    mode: 'chat',
    input_cost_per_token: usdPerMillion.input / aMillion,
    cache_read_input_token_cost: usdPerMillion.cachedInput / aMillion,
    output_cost_per_token: usdPerMillion.output / aMillion,
  },
}

/** It takes prices only from an address. Ends with the bench. */
const servePrices = async (): Promise<string> => {
  const server = createServer((_, response) => response.end(JSON.stringify(priceSheet)))
    .listen(0, '127.0.0.1')
    .unref()
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const storeAt = (databaseUrl: string): object => {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl)
  const address = { host: hostname, port, user: username, password, db_name: pathname.slice(1), ssl_mode: 'disable' }
  return { enabled: true, type: 'postgres', config: address }
}

const configOf = (upstreamUrl: string, databaseUrl: string, pricingUrl: string): object => ({
  client: { enable_logging: true, enforce_auth_on_inference: true },
  framework: { pricing: { pricing_url: pricingUrl } },
  providers: {
    openai: {
      keys: [{ name: 'bench', value: 'sk-bench', weight: 1, models: [answeredModel] }],
      network_config: { base_url: upstreamUrl },
    },
  },
  governance: {
    budgets: [{ id: 'bench', max_limit: 100_000, reset_duration: '1M' }],
    virtual_keys: [
      {
        id: 'bench',
        name: 'bench',
        value: virtualKey,
        is_active: true,
        budget_id: 'bench',
        provider_configs: [{ provider: 'openai', weight: 1, allowed_models: [answeredModel] }],
      },
    ],
  },
  config_store: storeAt(databaseUrl),
  logs_store: storeAt(databaseUrl),
})

export const bifrost: Peer = {
  name: 'bifrost',
  program: 'bifrost/bifrost-http',
  hasDatabase: true,
  configure: async ({ installed, folder, port, upstreamUrl, databaseUrl }) => {
    const config = configOf(upstreamUrl, databaseUrl, await servePrices())
    await writeFile(join(folder, 'config.json'), JSON.stringify(config))
    const words = ['-app-dir', folder, '-host', '127.0.0.1', '-port', String(port), '-log-level', 'warn']
    return { file: join(installed, 'bifrost-http'), args: words }
  },
  readyPath: '/health',
  asked: async () => ({ key: virtualKey, model: `openai/${answeredModel}` }),
  billsQuery: `select count(*) as bills, sum(cost::numeric) as usd from logs where status = 'success'`,
  admittedQuery: 'select sum(current_usage::numeric) as usd from governance_budgets',
}
