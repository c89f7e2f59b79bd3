import { runTogether } from '../support/run-together.ts'

await runTogether(
  'test/flows/{a-video-costs,a-video-from,a-video-is,a-video-task-moved,a-video-that,an-expired,whoever}*.test.ts',
)
