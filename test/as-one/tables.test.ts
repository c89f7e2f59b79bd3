import { runTogether } from '../run-together.ts'

await runTogether('test/read-models/**/*.test.ts')
await runTogether('test/infrastructure/postgres/**/*.test.ts')
