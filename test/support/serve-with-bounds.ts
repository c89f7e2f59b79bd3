/** `gateway serve` with the bounds of a test in place of its own. */
import { parseArgs } from 'node:util'
import { createRuntime } from '../../src/cli/runtime.ts'
import { serveGateway } from '../../src/cli/serve.ts'
import { readConfig } from '../../src/config/config.ts'
import { roleNames } from '../../src/roles/role.ts'

const { values } = parseArgs({
  allowPositionals: true,
  options: {
    config: { type: 'string' },
    data: { type: 'string' },
    role: { type: 'string' },
    bounds: { type: 'string', default: '{}' },
  },
})
const role = roleNames.find((name) => name === values.role)
const config = readConfig(process.env, { file: values.config, dataFolder: values.data, role })
await serveGateway(config, createRuntime(config.logLevel, { role: role ?? 'gateway' }), role, JSON.parse(values.bounds))
