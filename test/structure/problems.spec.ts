import t from 'tap'
import { assignSpecs, listTestFiles } from '../support/suites.ts'
import {
  findFigureProblems,
  findFolderProblems,
  findNameProblems,
  findSuiteProblems,
  findWordProblems,
  type StructureBounds,
} from './problems.ts'
import { parseSource } from './sources.ts'

const none: StructureBounds = { sharedNames: {}, folderPairs: [], bannedWordsMax: {}, figuresMax: {} }

t.test('a banned word is found in comments, strings and all that is declared', async (t) => {
  const text = [
    '/** What the log tells. */',
    'export const toldUsage = 1',
    'function read(voice: number, { kept: books }: Kept) {',
    '  const isUntold = `says ${voice} more`',
    '}',
    'interface Kept { readonly told1h: string }',
    "class Log { #charactersTold = 'not_heard' }",
  ]
  const sources = [
    parseSource('src/a/one.ts', text.join('\n')),
    parseSource(
      'src/a/two.ts',
      "// As reported.\nimport { told } from './told.ts'\nexport const storyteller = told.books\n",
    ),
  ]
  const [problem = '', ...others] = findWordProblems(sources, none)
  const uses = ['1: tells', '2: told', '3: voice', '3: books', '4: says', '4: untold', '6: told', '7: heard', '7: told']
  t.equal(
    problem,
    ['src/a: 9 uses of banned words, 0 allowed', ...uses.map((use) => `  src/a/one.ts:${use}`)].join('\n'),
  )
  t.same(others, [])
  t.same(findWordProblems(sources, { ...none, bannedWordsMax: { 'src/a': 9 } }), [])
})

t.test('a bound that is no longer needed is found', async (t) => {
  const bounds = { ...none, bannedWordsMax: { 'src/a': 2 } }
  t.same(findWordProblems([], bounds), ['src/a: 0 uses of banned words: lower the bound of 2'])
})

t.test('a name that two files export is found', async (t) => {
  const sources = [
    parseSource('src/a/one.ts', 'export interface Place {}\n'),
    parseSource('src/b/two.ts', 'export const Place = 1\nexport { Place as Other }\n'),
    parseSource('src/b/three.ts', 'const Place = 1\n'),
  ]
  t.same(findNameProblems(sources, none), ['Place is exported by several files: src/a/one.ts, src/b/two.ts'])
  t.same(findNameProblems(sources, { ...none, sharedNames: { Place: 'one thing' } }), [])
})

t.test('folders that import each other are found, type imports included', async (t) => {
  const sources = [
    parseSource('src/a/one.ts', "import type { B } from '../b/two.ts'\n"),
    parseSource('src/b/two.ts', "export { A } from '../a/three.ts'\n"),
    parseSource('src/c/four.ts', "import { B } from '../b/two.ts'\nimport './five.ts'\n"),
  ]
  t.same(findFolderProblems(sources, none), ['folders import each other: src/a <-> src/b'])
})

t.test('a figure that grew is found, and so is one that is not measured', async (t) => {
  const members = Array.from({ length: 21 }, (_, place) => `  m${place} = 1`).join('\n')
  const sources = [parseSource('src/a/one.ts', `class Large {\n${members}\n}\n`)]
  t.same(findFigureProblems(sources, { ...none, figuresMax: { 'classes above 20 members': 0 } }), [
    'classes above 20 members: 1, 0 allowed',
  ])
  t.same(findFigureProblems(sources, { ...none, figuresMax: { 'classes above 20 members': 1 } }), [])
  const literal = parseSource('src/a/two.ts', 'export const made = { get one() { return 1 }, two() {} }\n')
  t.same(findFigureProblems([...sources, literal], { ...none, figuresMax: { 'accessors in object literals': 0 } }), [
    'accessors in object literals: 1, 0 allowed',
  ])
  t.same(findFigureProblems(sources, { ...none, figuresMax: { unheard: 1 } }), ['unheard: not measured, 1 allowed'])
})

t.test('each spec belongs to one suite', async (t) => {
  t.same(findSuiteProblems(listTestFiles()), [])
  const files = [
    'flows.test.ts',
    'flows.video.test.ts',
    'flows/a.spec.ts',
    'flows/video/b.spec.ts',
    'flows/c/d.spec.ts',
  ]
  t.same(Object.fromEntries(assignSpecs(files).specs), {
    'flows/video': ['flows/video/b.spec.ts'],
    flows: ['flows/a.spec.ts', 'flows/c/d.spec.ts'],
  })
})

t.test('a spec or suite that would not run is found', async (t) => {
  t.same(findSuiteProblems(['a.test.ts', 'a/one.spec.ts', 'a/b/two.test.ts']), [
    'test/a/b/two.test.ts is not run: name it two.spec.ts',
  ])
  t.same(findSuiteProblems(['a.test.ts', 'b/c/one.spec.ts']), [
    'test/b/c/one.spec.ts is not run: add test/b.c.test.ts',
    'test/a.test.ts has no specs in test/a',
  ])
})
