import { runTogether } from '../support/run-together.ts'

await runTogether('test/roles/*.test.ts')
await runTogether('test/roles/{scheduler,video-poller}/**/*.test.ts')
