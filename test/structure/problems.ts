import { dirname } from 'node:path'
import { measureStructure, sharedNames, twoWayFolders } from './measure.ts'
import type { SourceFile } from './sources.ts'
import { findBannedWords } from './words.ts'

/** What exists today and may go; nothing may be added. */
export interface StructureBounds {
  /** Exported names that several files declare for the same thing, each with the reason. */
  readonly sharedNames: Readonly<Record<string, string>>
  /** Pairs of folders that import each other. */
  readonly folderPairs: readonly string[]
  /** Uses of banned words in comments and exported names, by folder. */
  readonly bannedWordsMax: Readonly<Record<string, number>>
  /** Figures of `make structure`. */
  readonly figuresMax: Readonly<Record<string, number>>
}

export const findWordProblems = (sources: readonly SourceFile[], bounds: StructureBounds): readonly string[] => {
  const uses = Object.groupBy(findBannedWords(sources), ({ path }) => dirname(path))
  return Object.entries(uses).flatMap(([folder, found = []]) => {
    const max = bounds.bannedWordsMax[folder] ?? 0
    if (found.length <= max) return []
    const places = found.map(({ path, line, word }) => `  ${path}${line === 0 ? '' : `:${line}`}: ${word}`)
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
