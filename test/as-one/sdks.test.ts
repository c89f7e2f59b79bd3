import { runTogether } from '../support/run-together.ts'

await runTogether('test/flows/{agents-sdks,any-model,chat-with,messages-with,no-header,responses-with}*.test.ts')
