import { execFileSync } from 'node:child_process'
import t from 'tap'
import { programEnvironment } from '../support/program.ts'

t.test('what a test starts is not recorded by the test runner', async (t) => {
  const options = execFileSync(process.execPath, ['-p', "process.env.NODE_OPTIONS ?? ''"], {
    env: programEnvironment(),
  })
  t.equal(String(options), '\n')
})
