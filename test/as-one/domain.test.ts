import { runTogether } from '../run-together.ts'

await runTogether('test/domain/**/*.test.ts')
