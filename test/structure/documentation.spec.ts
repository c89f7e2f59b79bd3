import t from 'tap'
import { manifests } from '../../src/roles/manifests.ts'
import { attacks } from '../attacks/attacks.ts'
import { documentationInOrder, findDocumentationProblems, findPageProblems } from './documentation.ts'
import { isShownAsPrinted } from './shown-output.ts'

t.test('the documentation has no problem', async (t) => t.same(findDocumentationProblems(), []))

t.test('the events of each role are those of its manifest', (t) => {
  const listed = (path: string, role: string) => {
    const page = documentationInOrder().find((each) => each.path === path)
    const [, events = ''] = new RegExp(`^\\| ${role} \\|.*\\|(.*)\\|$`, 'm').exec(page?.text ?? '') ?? []
    return [...new Set([...events.matchAll(/`([A-Z]\w+)`/g)].map(([, name = '']) => name))].toSorted()
  }
  for (const [role, events] of Object.entries(manifests)) {
    t.same(listed('docs/architecture.md', role), [...events].toSorted(), role)
    if (role !== 'edge') t.same(listed('README.md', role), [...events].toSorted(), `${role} in the README`)
  }
  t.end()
})

t.test('the attacks of the documentation are those of `make attacks`', async (t) => {
  const page = documentationInOrder().find(({ path }) => path === 'docs/security.md')
  const [, rows = ''] = /^\| attack \|.*\n\|[-|]+\n((?:\|.*\n)+)/m.exec(page?.text ?? '') ?? []
  const listed = rows
    .trimEnd()
    .split('\n')
    .map((row) => row.slice(2, -2).split(' | '))
  const run = attacks.filter(({ connections }) => connections > 0)
  t.same(
    listed,
    run.map(({ name, connections, held }) => [name, connections.toLocaleString('en-US'), held.join(', ')]),
  )
})

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

t.test('a page that is too long, a setting and a member of a request without a description are found', async (t) => {
  const text = `| setting | type |  |\n|---|---|---|\n| \`a\` | text |  |\n| \`b\` | text | What. |\n| \`c\` | body | text | Required.  |\n| \`d\` | path | text |  |\n${'A line.\n'.repeat(250)}`
  t.same(findPageProblems([{ path: 'docs/reference/configuration.md', text }]), [
    'docs/reference/configuration.md has 256 lines, 250 allowed',
    'docs/reference/configuration.md: `a` has no description',
    'docs/reference/configuration.md: `c` has no description',
  ])
})

t.test('a block that is not marked, and output without commands, are found', async (t) => {
  const text =
    '```sh\nmake\n```\n```json output\n{}\n```\n```text output\nb\n```\n```\nc\n```\n```text example\nd\n```\n'
  t.same(findPageProblems([{ path: 'README.md', text }]), [
    'README.md: output does not follow its commands: b',
    'README.md: a block is neither output nor an example: c',
  ])
})

t.test('a shown table is the end of what was printed, apart from what varies', async (t) => {
  const printed =
    '{}\nid                                    held  balance\n01a2045d-9851-7686-ade9-25edc290037d  0     99.5\n'
  const shows = (body: string) => isShownAsPrinted({ language: 'text', body, isShortened: false }, printed)
  t.ok(shows('id held balance\n01a2045d-9851-7686-ade9-25edc290abcd 0 99.5\n'))
  t.ok(shows('id…balance\n… 0 …\n'))
  t.notOk(shows('id held balance\n01a2045d-9851-7686-ade9-25edc290abcd 1 99.5\n'), 'another value')
  t.notOk(shows('id balance\n…\n'), 'another head')
  t.notOk(shows('id held balance\n'), 'not the end')
})

t.test('a shown answer has the members that were printed, fewer where its page says so', async (t) => {
  const printed = 'data\n{"created":1795369572,"usage":{"total":4,"details":{}},"choices":[{"index":0}]}'
  const shows = (shown: unknown, isShortened: boolean) =>
    isShownAsPrinted({ language: 'json', body: JSON.stringify(shown), isShortened }, printed)
  const short = { created: 1795360000, usage: { total: 4 }, choices: [{ index: 0 }] }
  t.ok(shows(short, true))
  t.ok(shows({ ...short, usage: { details: {}, total: 4 } }, false))
  t.notOk(shows(short, false), 'a member is left out')
  t.notOk(shows({ ...short, choices: [] }, true), 'a list has fewer')
  t.notOk(shows({ ...short, usage: { total: 5 } }, true), 'another value')
})
