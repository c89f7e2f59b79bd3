import { runTogether } from '../support/run-together.ts'

await runTogether('test/roles/edge/**/*.test.ts', { part: 2, of: 3 })
