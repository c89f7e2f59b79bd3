import { runTogether } from '../run-together.ts'

await runTogether('test/roles/proxy/**/*.test.ts')
