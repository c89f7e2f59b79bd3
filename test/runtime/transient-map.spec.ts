import v8 from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { TransientMap } from '../../src/runtime/transient-map.ts'

t.test('keeps what is in it, in order, however often it is made anew', (t) => {
  const map = new TransientMap<number, string>()
  for (let key = 0; key < 5_000; key += 1) {
    map.set(key, `value ${key}`)
    if (key >= 600 && key % 3 !== 0) map.delete(key - 600)
  }
  const left = Array.from({ length: 5_000 }, (_, key) => key).filter((key) => key >= 4_400 || (key + 600) % 3 === 0)
  t.same(
    [...map].map(([key]) => key),
    left,
  )
  t.same([...map.values()].slice(0, 2), [`value ${left[0]}`, `value ${left[1]}`])
  t.equal(map.size, left.length)
  t.equal(map.get(4_999), 'value 4999')
  t.ok(map.has(0))
  t.notOk(map.delete(1))
  map.set(0, 'another')
  t.equal(map.get(0), 'another')
  map.clear()
  t.equal(map.size, 0)
  t.equal(map.get(4_999), undefined)
  t.end()
})

interface Passing {
  set(key: number, value: object): unknown
  delete(key: number): boolean
}

const oldBytes = (): number =>
  v8.getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')!.space_used_size

/** What comes to the old generation while so many values pass, 64 of them at once. */
const bytesMovedBy = (map: Passing, collect: (options?: { type: 'minor' }) => void): number => {
  collect() // Otherwise what other specs have left is collected meanwhile, which is more than comes.
  for (let times = 0; times < 4; times += 1) collect({ type: 'minor' }) // The map itself is in the old generation.
  const before = oldBytes()
  for (let key = 0; key < 20_000; key += 1) {
    map.set(
      key,
      Array.from({ length: 100 }, (_, place) => key + place / 2),
    )
    map.delete(key - 64)
    if (key % 2_000 === 0) collect({ type: 'minor' })
  }
  return oldBytes() - before
}

t.test('what has passed through it does not come to the old generation', (t) => {
  v8.setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  const ofMap = bytesMovedBy(new Map(), collect)
  const ofTransient = bytesMovedBy(new TransientMap(), collect)
  t.ok(ofTransient < ofMap / 4, `${ofTransient} bytes, and ${ofMap} of a map`)
  t.end()
})
