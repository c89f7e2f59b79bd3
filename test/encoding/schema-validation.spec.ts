import { globSync, readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import t from 'tap'
import { getValidator } from '../../src/encoding/schema-validation.ts'

const folder = new URL('../../schemas/', import.meta.url)
const files = globSync('**/*.json', { cwd: folder })

t.test('every schema obeys the schema of schemas, which a start does not look at', async (t) => {
  const ajv = new Ajv()
  for (const file of files) {
    const schema = JSON.parse(readFileSync(new URL(file, folder), 'utf8'))
    t.ok(ajv.validateSchema(schema), `${file}: ${ajv.errorsText()}`)
  }
})

t.test('and can be compiled, whichever is asked for first', async (t) => {
  for (const file of files.toReversed()) t.doesNotThrow(() => getValidator(file)(undefined), file)
})

t.test('a schema that is not there is missed before there is a value', async (t) => {
  t.throws(() => getValidator('events/Absent.v1.json'), { message: 'there is no schema events/Absent.v1.json' })
})
