import t from 'tap'
import { parse } from 'yaml'
import { getValidator } from '../../src/encoding/schema-validation.ts'
import { documentationInOrder } from '../structure/documentation.ts'

const isValid = getValidator('config.json', { allErrors: true })

const providerMember = /^ *(?:authentication|timeouts|retries):/

/** A block is a file or a part of one; members of a provider are alternatives, one on each line. */
const filesIn = (block: string): readonly unknown[] =>
  providerMember.test(block)
    ? block
        .trimEnd()
        .split('\n')
        .map((line) => ({ providers: { shown: { dialect: 'openai', ...parse(line) } } }))
    : [parse(block)]

t.test('every part of a configuration that the documentation shows is valid', async (t) => {
  const blocks = documentationInOrder().flatMap(({ path, text }) =>
    Array.from(text.matchAll(/^```yaml\n(.*?)^```$/gms), ([, block = '']) => ({ path, block })),
  )
  t.ok(blocks.length > 0, `${blocks.length} blocks`)
  for (const { path, block } of blocks)
    for (const file of filesIn(block.replaceAll(/\$\{\w+\}/g, 'a secret of 32 characters or more')))
      t.same(isValid(file), [], path)
})
