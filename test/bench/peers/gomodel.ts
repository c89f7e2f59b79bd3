import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { answeredModel } from '../content.ts'
import { type Peer, usdPerMillion } from './peer.ts'

const masterKey = 'sk-bench'

const settingsOf = (port: number, upstreamUrl: string, databaseUrl: string): object => ({
  server: { port: String(port), master_key: masterKey },
  models: { configured_provider_models_mode: 'allowlist' },
  cache: { model: { model_list: { url: '' } } },
  storage: { type: 'postgresql', postgresql: { url: `${databaseUrl}?sslmode=disable` } },
  logging: { enabled: false },
  usage: { enabled: true },
  providers: {
    openai: {
      type: 'openai',
      api_key: 'sk-bench',
      base_url: `${upstreamUrl}/v1`,
      models: [
        {
          id: answeredModel,
          metadata: {
            modes: ['chat'],
            pricing: {
              currency: 'USD',
              input_per_mtok: usdPerMillion.input,
              cached_input_per_mtok: usdPerMillion.cachedInput,
              output_per_mtok: usdPerMillion.output,
            },
          },
        },
      ],
    },
  },
})

export const gomodel: Peer = {
  name: 'gomodel',
  program: 'gomodel/gomodel',
  hasDatabase: true,
  configure: async ({ installed, folder, port, upstreamUrl, databaseUrl }) => {
    await mkdir(join(folder, 'config'))
    const settings = JSON.stringify(settingsOf(port, upstreamUrl, databaseUrl)) // JSON is YAML.
    await writeFile(join(folder, 'config', 'config.yaml'), settings)
    return { file: join(installed, 'gomodel'), args: [], environment: { LOG_LEVEL: 'warn', MODEL_LIST_URL: '' } }
  },
  readyPath: '/health',
  asked: async () => ({ key: masterKey, model: `openai/${answeredModel}` }),
  billsQuery: 'select count(*) as bills, sum(total_cost::numeric) as usd from usage',
  admittedQuery: null,
}
