import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { inspect } from 'node:util'
import t from 'tap'
import { Domain } from './fault-domain.ts'
import { beginSuite, endSuite } from './suite-end.ts'
import { assignSpecs, listTestFiles } from './suites.ts'

type End = () => unknown

const root = new URL('../', import.meta.url)
const isCpuPrinted = process.env['TEST_CPU'] === '1'
const specMsMax = Number(process.env['TAP_TIMEOUT'] ?? 600) * 1000

/** CPU of this process and of its children that have ended, seconds (proc_pid_stat(5), in ticks of 10 ms). */
const readCpuSeconds = (): number => {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]!.split(' ')
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100
}

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
  beginSuite()
  const folder = basename(suiteUrl, '.test.ts').replaceAll('.', '/')
  for (const spec of assignSpecs(listTestFiles()).specs.get(folder) ?? []) {
    const before = isCpuPrinted ? readCpuSeconds() : 0
    const startedMs = performance.now()
    await runSpec(spec)
    const wallSeconds = (performance.now() - startedMs) / 1000
    if (isCpuPrinted)
      t.comment(`CPU ${(readCpuSeconds() - before).toFixed(1)} s, wall ${wallSeconds.toFixed(1)} s: test/${spec}`)
  }
  await t.test('teardown of what the specs share', endSuite)
}
