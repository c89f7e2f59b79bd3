import { runTogether } from '../support/run-together.ts'

await runTogether('test/cli/**/*.test.ts')
