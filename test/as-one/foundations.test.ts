import { runTogether } from '../support/run-together.ts'

await runTogether('test/{config,encoding,log,runtime}/**/*.test.ts')
