import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { benchModel } from '../price.ts'
import { type Peer, usdPerMillion } from './peer.ts'

const masterKey = 'sk-bench'
const aMillion = 1e6

const settingsOf = (upstreamUrl: string): object => ({
  model_list: [
    {
      model_name: benchModel,
      litellm_params: {
        model: benchModel,
        api_base: `${upstreamUrl}/v1`,
        api_key: 'sk-bench',
        input_cost_per_token: usdPerMillion.input / aMillion,
        cache_read_input_token_cost: usdPerMillion.cachedInput / aMillion,
        output_cost_per_token: usdPerMillion.output / aMillion,
      },
    },
  ],
  general_settings: { master_key: masterKey },
})

/** Without a database, in which alone it keeps what a key spent. */
export const litellm: Peer = {
  name: 'litellm',
  program: 'litellm/venv/bin/litellm',
  hasDatabase: false,
  configure: async ({ installed, folder, port, upstreamUrl }) => {
    const config = join(folder, 'config.yaml')
    await writeFile(config, JSON.stringify(settingsOf(upstreamUrl))) // JSON is YAML.
    // Its parent ends workers that do not answer within so many seconds; where a machine is busy they start more slowly than its 5.
    const patient = ['--timeout_worker_healthcheck', '120']
    return {
      file: join(installed, 'litellm'),
      args: ['--config', config, '--host', '127.0.0.1', '--port', String(port), '--num_workers', '2', ...patient],
      environment: { LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_LOG: 'ERROR', LITELLM_TELEMETRY: 'False' },
    }
  },
  readyPath: '/health/liveliness',
  asked: async () => ({ key: masterKey, model: benchModel }),
  billsQuery: null,
  admittedQuery: null,
}
