import t from 'tap'
import {
  findFigureProblems,
  findFolderProblems,
  findNameProblems,
  findWordProblems,
  type StructureBounds,
} from './problems.ts'
import { parseSource } from './sources.ts'

const none: StructureBounds = { sharedNames: {}, folderPairs: [], bannedWordsMax: {}, figuresMax: {} }

t.test('a banned word in a comment or an exported name is found, and what is listed is not', async (t) => {
  const sources = [
    parseSource('src/a/one.ts', '/** What the log tells. */\nexport const toldUsage = 1\nconst told = "told"\n'),
    parseSource('src/a/two.ts', '// The status as reported.\nexport const storyteller = 1\n'),
  ]
  const [problem = '', ...others] = findWordProblems(sources, none)
  t.match(
    problem,
    /src\/a: 2 uses of banned words, 0 allowed\n {2}src\/a\/one\.ts:1: tells\n {2}src\/a\/one\.ts: told$/,
  )
  t.same(others, [])
  t.same(findWordProblems(sources, { ...none, bannedWordsMax: { 'src/a': 2 } }), [])
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
  t.same(findFigureProblems(sources, { ...none, figuresMax: { unheard: 1 } }), ['unheard: not measured, 1 allowed'])
})
