import t from 'tap'
import { shapes } from '../../stops/shapes.ts'
import { startStopsPlace, type Way } from '../../stops/stops.ts'
import { cpuMsSince } from '../../support/cpu-time.ts'

/** The short form of `make stops`, whose bound is in milliseconds: a machine that runs a suite is slower at times. */
const timesMax = 3
/** A collection may take as long. */
const msMin = 100
const triesMax = 4

const cases: readonly (readonly [surface: string, name: string, way: Way])[] = [
  ['chat', 'messages of Chinese letters', 'an idempotency key'],
  ['messages', 'many tool calls', 'an answer without usage'],
  ['responses', 'many tools without a price', 'each candidate refuses'],
  ['embeddings', 'lists of token ids', 'an answer without usage'],
  ['gemini', 'results in the opposite order', 'each candidate refuses'],
]

/** CPU time for the same body to be parsed and written once: what no machine does faster. */
const parsedMs = (body: string): number => {
  const started = process.threadCpuUsage()
  JSON.stringify(JSON.parse(body))
  return cpuMsSince(started)
}

t.test('the largest bodies take many short turns of the event loop', async (t) => {
  const place = await startStopsPlace(t)
  for (const [surface, name, way] of cases) {
    const shape = shapes.find((each) => each.surface === surface && each.name === name)!
    let isShort = false
    for (let tries = 0; tries < triesMax && !isShort; tries += 1) {
      const msMax = Math.max(msMin, timesMax * parsedMs(shape.make([])))
      const { cpuMs, status } = await place.measure(shape, way)
      t.equal(status, way === 'an answer without usage' ? 200 : 502, `${surface}, ${name}: it is accepted`)
      t.comment(`${surface}, ${name}, ${way}: ${cpuMs.toFixed(0)} ms of at most ${msMax.toFixed(0)}`)
      isShort = cpuMs <= msMax
    }
    t.ok(isShort, `${surface}, ${name}, ${way}`)
  }
})
