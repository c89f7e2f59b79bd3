import { globSync, readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import t from 'tap'
import { getValidator } from '../../src/encoding/schema-validation.ts'
import { cpuMsOf } from '../support/cpu-time.ts'

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

t.test('the length of a text is counted in characters, as the errors report', async (t) => {
  const validate = getValidator('requests/chat-completion-request.json')
  const problemsOf = (model: string) => validate({ model, messages: [{ role: 'user', content: 'x' }] })
  for (const model of ['x'.repeat(256), '😀'.repeat(256)]) t.same(problemsOf(model), [])
  for (const model of ['x'.repeat(257), '😀'.repeat(257)])
    t.match(problemsOf(model), [{ path: 'model', message: 'must NOT have more than 256 characters' }])
  t.match(problemsOf(''), [{ path: 'model', message: 'must not be empty' }])
})

t.test('an answer of thinking alone is a message, an empty one is not', async (t) => {
  const validate = getValidator('requests/chat-completion-request.json')
  const problemsOf = (message: object) => validate({ model: 'm', messages: [message] })
  for (const content of [{}, { content: null }])
    t.same(problemsOf({ role: 'assistant', reasoning_content: 'Hm.', ...content }), [])
  for (const empty of [{}, { reasoning_content: null }, { reasoning_content: '' }])
    t.match(problemsOf({ role: 'assistant', ...empty }), [{ path: 'messages[0].content' }])
  t.match(problemsOf({ role: 'user', reasoning_content: 'Hm.' }), [{ path: 'messages[0].content' }])
})

t.test('an amount that is no decimal number in quotes is reported as that', async (t) => {
  const validate = getValidator('config.json', { allErrors: true })
  for (const approval_above of [100, '100,00', '-1']) {
    const [problem] = validate({ adjustments: { approval_above } }).filter(({ path }) => path.startsWith('adjustments'))
    t.match(problem, {
      path: 'adjustments.approval_above',
      message: 'must be a decimal number in quotes, zero or more, such as "250.00"',
    })
  }
})

t.test('a text of any length that is too long is refused at once, whatever its pattern', async (t) => {
  const value = { model_name: 'm', external_task_id: '中'.repeat(5_000_000) }
  const ms = cpuMsOf(() => {
    t.match(getValidator('requests/native-video-request.v1.json')(value), [{ keyword: 'maxLength' }])
  })
  t.ok(ms < 50, `${ms.toFixed(0)} ms`)
})
