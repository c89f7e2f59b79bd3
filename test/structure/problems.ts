import { basename, dirname } from 'node:path'
import { assignSpecs } from '../support/suites.ts'
import { measureStructure, sharedNames, twoWayFolders } from './measure.ts'
import type { SourceFile } from './sources.ts'
import { findBannedWords } from './words.ts'

/** What exists today and may go; nothing may be added. */
export interface StructureBounds {
  /** Exported names that several files declare for the same thing, each with the reason. */
  readonly sharedNames: Readonly<Record<string, string>>
  /** Pairs of folders that import each other. */
  readonly folderPairs: readonly string[]
  /** Uses of banned words in comments, strings and names, by folder. */
  readonly bannedWordsMax: Readonly<Record<string, number>>
  /** Figures of `make structure`. */
  readonly figuresMax: Readonly<Record<string, number>>
}

export const findWordProblems = (sources: readonly SourceFile[], bounds: StructureBounds): readonly string[] => {
  const uses = Object.groupBy(findBannedWords(sources), ({ path }) => dirname(path))
  return [...new Set([...Object.keys(uses), ...Object.keys(bounds.bannedWordsMax)])].flatMap((folder) => {
    const found = uses[folder] ?? []
    const max = bounds.bannedWordsMax[folder] ?? 0
    if (found.length < max) return [`${folder}: ${found.length} uses of banned words: lower the bound of ${max}`]
    if (found.length === max) return []
    const places = found.map(({ path, line, word }) => `  ${path}:${line}: ${word}`)
    return [`${folder}: ${found.length} uses of banned words, ${max} allowed\n${places.join('\n')}`]
  })
}

export const findNameProblems = (sources: readonly SourceFile[], bounds: StructureBounds): readonly string[] =>
  [...sharedNames(sources)]
    .filter(([name]) => !(name in bounds.sharedNames))
    .map(([name, files]) => `${name} is exported by several files: ${files.join(', ')}`)

export const findFolderProblems = (sources: readonly SourceFile[], bounds: StructureBounds): readonly string[] =>
  twoWayFolders(sources)
    .filter((pair) => !bounds.folderPairs.includes(pair))
    .map((pair) => `folders import each other: ${pair}`)

export const findFigureProblems = (sources: readonly SourceFile[], bounds: StructureBounds): readonly string[] => {
  const figures = measureStructure(sources)
  return Object.entries(bounds.figuresMax)
    .filter(([name, max]) => (figures[name] ?? Number.POSITIVE_INFINITY) > max)
    .map(([name, max]) => `${name}: ${figures[name] ?? 'not measured'}, ${max} allowed`)
}

/** Of paths from test/: each spec must be loaded by a suite, each suite must have specs, and no suite may lie below a folder. */
export const findSuiteProblems = (files: readonly string[]): readonly string[] => {
  const { specs, unloaded } = assignSpecs(files)
  const belowFolders = files.filter((file) => file.endsWith('.test.ts') && file.includes('/'))
  return [
    ...belowFolders.map((file) => `test/${file} is not run: name it ${basename(file, '.test.ts')}.spec.ts`),
    ...unloaded.map((spec) => `test/${spec} is not run: add test/${dirname(spec).replaceAll('/', '.')}.test.ts`),
    ...[...specs]
      .filter(([, found]) => found.length === 0)
      .map(([folder]) => `test/${folder.replaceAll('/', '.')}.test.ts has no specs in test/${folder}`),
  ]
}
