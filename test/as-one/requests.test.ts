import { runTogether } from '../support/run-together.ts'

await runTogether('test/flows/{a-period,a-request,an-upstream,each-role,no-secret,two-edges-hold,what-is}*.test.ts')
