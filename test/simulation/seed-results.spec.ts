import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { failedSeed, SeedResults } from './seed-results.ts'

t.test('a line that a killed run has cut is left out, and the next is whole', async (t) => {
  const file = join(t.testdir(), 'results')
  const first = await SeedResults.open(file, 100)
  first.add(failedSeed(1, 'x'))
  await appendFile(file, '{"seed":2,"viol')
  const second = await SeedResults.open(file, 100)
  t.same([second.has(1), second.has(2)], [true, false])
  second.add(failedSeed(3, 'x'))
  const third = await SeedResults.open(file, 100)
  t.same(
    third.of([1, 2, 3]).map(({ seed }) => seed),
    [1, 3],
  )
  t.match(await readFile(file, 'utf8'), /^\{"actions":100\}\n/)
})

t.test('results of another number of actions are refused', async (t) => {
  const file = join(t.testdir(), 'results')
  await SeedResults.open(file, 100)
  await t.rejects(SeedResults.open(file, 50), { message: /SIMULATE_ACTIONS=100, not 50/ })
})
