import { runTogether } from '../support/run-together.ts'

await runTogether('test/providers/**/*.test.ts')
