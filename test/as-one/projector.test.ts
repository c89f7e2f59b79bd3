import { runTogether } from '../run-together.ts'

await runTogether('test/roles/projector/**/*.test.ts')
