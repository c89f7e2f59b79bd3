import { runTogether } from '../run-together.ts'

await runTogether('test/providers/**/*.test.ts')
