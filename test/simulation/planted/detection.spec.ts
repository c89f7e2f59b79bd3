import { readFile } from 'node:fs/promises'
import t from 'tap'
import { plantedBugs } from './bugs.ts'
import { Detectors } from './detectors.ts'
import { readTable } from './table.ts'

const detectors = new Detectors()
t.teardown(() => detectors.close())

t.test('every planted bug has its place in the source', async (t) => {
  for (const { name, file, find } of plantedBugs) {
    const source = await readFile(new URL(`../../../src/${file}`, import.meta.url), 'utf8')
    t.equal(source.split(find).length, 2, name)
  }
})

t.test('every planted bug is in the table of the documentation', async (t) => {
  const rows = await readTable()
  t.strictSame(
    rows.map(({ name }) => name),
    plantedBugs.map(({ name }) => name),
  )
  for (const { name, seed } of rows) {
    const isKept = plantedBugs.find((each) => each.name === name)?.plan !== undefined
    t.equal(seed === 0, isKept, `${name} is detected by seed ${seed}`)
  }
})

t.test('bugs in what is recorded, drawn and reserved are detected by what they violate', async (t) => {
  const violationOf = async (name: string): Promise<string | null> =>
    (await detectors.detect({ name, seeds: 3, actions: 100 })).violation
  t.match(
    await violationOf('an append is acknowledged before it is stored'),
    /sent to a provider before the log has it/,
  )
  t.match(await violationOf('a charge is not drawn from its hold'), /by its events/)
  t.match(await violationOf('what is reserved counts as free'), /reserve \d+, it has \d+/)
})

t.test('a plan that was kept for a bug detects it', async (t) => {
  for (const { name, plan } of plantedBugs.filter(({ plan }) => plan !== undefined)) {
    const { seed, violation } = await detectors.detect({ name, seeds: 0, actions: 0 })
    t.equal(seed, 0, `${plan} detects: ${name} (${violation})`)
  }
})
