import t from 'tap'
import { attacks } from '../../attacks/attacks.ts'
import { measureAttack, openPlaces } from '../../attacks/table.ts'

/** The short form of `make attacks`, whose bound is narrower: a machine that runs a suite does other things as well. */
const timesMax = 10
const graceMs = 250
const triesMax = 5
const names = ['unknown keys', 'penniless callers']

t.test('attackers are refused, and a neighbour who pays is served', async (t) => {
  const placeOf = openPlaces(t)
  for (const attack of attacks.filter(({ name }) => names.includes(name))) {
    let isServed = false
    for (let tries = 0; tries < triesMax && !isServed; tries += 1) {
      const row = await measureAttack(attack, await placeOf(attack), { ms: 1_000, rounds: 1 })
      const { calm, attacked, held, open } = row
      t.comment(`${attack.name}: p99 ${calm.p99Ms.toFixed(1)} ms, then ${attacked.p99Ms.toFixed(1)} ms; ${held} held`)
      t.ok(held > 0, `${attack.name}: there were tries`)
      t.equal(row.tries - held - open, 0, `${attack.name}: all are refused`)
      t.same([...attacked.failed], [], `${attack.name}: the neighbour gets its answers`)
      isServed = attacked.p99Ms < timesMax * calm.p99Ms + graceMs
    }
    t.ok(isServed, `${attack.name}: the neighbour is not slowed down`)
  }
})
