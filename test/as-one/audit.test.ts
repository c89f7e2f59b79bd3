import { runTogether } from '../support/run-together.ts'

await runTogether('test/audit/**/*.test.ts')
await runTogether('test/reconcile/**/*.test.ts')
