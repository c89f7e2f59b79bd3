import { runTogether } from '../support/run-together.ts'

await runTogether('test/flows/{a-hold,a-key,a-log,a-rebuild,an-invoice,money,no-answer,what-an,with-postgres}*.test.ts')
