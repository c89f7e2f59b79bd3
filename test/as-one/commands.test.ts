import { runTogether } from '../run-together.ts'

await runTogether('test/commands/**/*.test.ts')
