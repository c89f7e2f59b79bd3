import t from 'tap'
import { findDocumentationProblems, findPageProblems } from './documentation.ts'

t.test('the documentation has no problem', async (t) => t.same(findDocumentationProblems(), []))

t.test('a link, an anchor and a path that lead nowhere are found', async (t) => {
  const pages = [
    { path: 'README.md', text: '[a](docs/README.md#first-steps), [b](docs/README.md#last), [c](docs/none.md)\n' },
    {
      path: 'docs/README.md',
      text: '# Docs\n## First steps!\n`src/main.ts`, `src/none.ts`, `test/flows/<file>`, `test/none/*.ts`, [m](../Makefile)\n',
    },
  ]
  t.same(findPageProblems(pages), [
    'README.md links to #last, which docs/README.md does not have',
    'README.md links to docs/none.md, which does not exist',
    'README.md names docs/none.md, which does not exist',
    'docs/README.md names src/none.ts, which does not exist',
    'docs/README.md names test/none/, which does not exist',
  ])
})

t.test('a README that is too long and a banned word are found, code aside', async (t) => {
  const text = `The log tells \`all\`, \`says\`.\n${'A line.\n'.repeat(180)}`
  t.same(findPageProblems([{ path: 'README.md', text }]), [
    'README.md uses the banned word tells',
    'README.md has 181 lines, 180 allowed',
  ])
})

t.test('a page that is too long and a setting without a description are found', async (t) => {
  const text = `| setting | type |  |\n|---|---|---|\n| \`a\` | text |  |\n| \`b\` | text | What. |\n${'A line.\n'.repeat(250)}`
  t.same(findPageProblems([{ path: 'docs/reference/configuration.md', text }]), [
    'docs/reference/configuration.md has 254 lines, 250 allowed',
    'docs/reference/configuration.md: `a` has no description',
  ])
})
