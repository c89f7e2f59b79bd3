/**
 * Ends with 1 where the source tree has more of what `bounds.json` lists, a spec is not run, or the documentation names what does not
 * exist. Run by `make check`.
 */
import { readFileSync } from 'node:fs'
import { listTestFiles } from '../support/suites.ts'
import { findDocumentationProblems } from './documentation.ts'
import {
  findFigureProblems,
  findFolderProblems,
  findNameProblems,
  findSuiteProblems,
  findWordProblems,
  type StructureBounds,
} from './problems.ts'
import { readSources } from './sources.ts'

const bounds: StructureBounds = JSON.parse(readFileSync(new URL('bounds.json', import.meta.url), 'utf8'))
const program = readSources('src/**/*.ts')
const sandbox = readSources('sandbox/**/*.ts')
const dashboard = readSources('dashboard/**/*.js')
const problems = [
  ...findWordProblems([...program, ...sandbox, ...dashboard], bounds),
  ...[program, sandbox].flatMap((sources) => [
    ...findNameProblems(sources, bounds),
    ...findFolderProblems(sources, bounds),
  ]),
  ...findFigureProblems(program, bounds),
  ...findSuiteProblems(listTestFiles()),
  ...findDocumentationProblems(),
]
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1
else console.log(`structure: ${program.length + sandbox.length} files within test/structure/bounds.json`)
