import { basename } from 'node:path'
import { inspect } from 'node:util'
import t from 'tap'
import { Domain } from './fault-domain.ts'
import { assignSpecs, listTestFiles } from './suites.ts'

type End = () => unknown

const root = new URL('../', import.meta.url)
const specMsMax = Number(process.env['TAP_TIMEOUT'] ?? 600) * 1000

/** Runs a spec in this process, and ends what it started before another begins. */
const runSpec = async (spec: string): Promise<void> => {
  const report = (fault: unknown): void => {
    t.fail(`test/${spec}: a fault outside its tests`, { fault: inspect(fault) })
  }
  new Domain(report) // A fault that no test awaits would end the process, and with it the suite.
  const ends: End[] = []
  t.setTimeout(specMsMax)
  t.teardown = (end: End) => {
    ends.push(end)
    return t
  }
  await import(new URL(spec, root).href).catch(report)
  await t.test(`teardown of test/${spec}`, async () => {
    for (const end of ends.reverse()) await end()
  })
}

/** Runs the specs of a suite's folder one after another: together they load once what a process of each would have to load. */
export const runSpecs = async (suiteUrl: string): Promise<void> => {
  const folder = basename(suiteUrl, '.test.ts').replaceAll('.', '/')
  for (const spec of assignSpecs(listTestFiles()).specs.get(folder) ?? []) await runSpec(spec)
}
