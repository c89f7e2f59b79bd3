import { runTogether } from '../run-together.ts'

await runTogether('test/sandbox/**/*.test.ts')
