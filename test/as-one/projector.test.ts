import { runTogether } from '../support/run-together.ts'

await runTogether('test/roles/projector/**/*.test.ts')
