import { runTogether } from '../support/run-together.ts'

await runTogether('test/sandbox/**/*.test.ts')
