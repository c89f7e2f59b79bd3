import { runTogether } from '../support/run-together.ts'

await runTogether('test/domain/**/*.test.ts')
