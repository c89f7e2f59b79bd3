import { runTogether } from '../support/run-together.ts'

await runTogether('test/roles/proxy/**/*.test.ts')
