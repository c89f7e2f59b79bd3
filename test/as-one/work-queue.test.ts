import { runTogether } from '../run-together.ts'

await runTogether('test/infrastructure/nats/work-queue/**/*.test.ts')
