import { spawnSync } from 'node:child_process'
import { hostname } from 'node:os'
import t from 'tap'
import { version } from '../../src/cli/version.ts'

const program = `
import { createRuntime } from ${JSON.stringify(new URL('../../src/cli/runtime.ts', import.meta.url).href)}
const { logger } = createRuntime('info', { role: 'edge', secrets: ['sk-secret'] })
logger.log('client.connection_broken', { fault: new Error('below the level') })
logger.log('request.failed', { requestId: 'r-1', fault: new Error('upstream refused sk-secret') })
`

t.test('a line has its code, level, text and the process that wrote it', async (t) => {
  const { stderr, pid } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' })
  const [line = '', ...others] = stderr.trim().split('\n')
  t.same(others, [])
  t.match(JSON.parse(line), {
    level: 'error',
    time: /^\d{4}-.*Z$/,
    role: 'edge',
    instance: `${hostname()}:${pid}`,
    version,
    event: 'request.failed',
    requestId: 'r-1',
    fault: { type: 'Error', message: 'upstream refused [redacted]' },
    msg: 'A request failed because of an internal fault.',
  })
})
