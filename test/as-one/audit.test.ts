import { runTogether } from '../run-together.ts'

await runTogether('test/audit/**/*.test.ts')
