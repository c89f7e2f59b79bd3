import { runTogether } from '../support/run-together.ts'

await runTogether('test/adapters/nats/work-queue/**/*.test.ts')
