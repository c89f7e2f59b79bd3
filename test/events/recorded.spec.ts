import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { getValidator } from '../../src/encoding/schema-validation.ts'
import { decodeFrame, encodeFrame } from '../../src/events/codec.ts'
import { storedSchemaIdOf, upcast } from '../../src/events/upcast.ts'

/** Events as a gateway wrote them to its log, one a line: what is here is never changed, only added to. */
const folder = new URL('recorded/', import.meta.url)

for (const file of readdirSync(folder))
  t.test(`${file} can still be read`, async (t) => {
    const lines = readFileSync(new URL(file, folder), 'utf8').trimEnd().split('\n')
    const { events } = decodeFrame(encodeFrame({ writer: 'w', counter: 1 }, lines))
    t.equal(events.length, lines.length)
    for (const event of events) {
      t.same(getValidator(storedSchemaIdOf(event), { allErrors: true })(event.data), [])
      t.equal(upcast(event).type, file.split('.')[0])
    }
  })
