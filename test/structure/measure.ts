import { dirname } from 'node:path'
import type { SourceFile } from './sources.ts'

export const smallFileLinesMax = 30
export const classMembersMax = 20
export const functionLinesMax = 70

/** Of each exported name that more than one file declares, these files. */
export const sharedNames = (sources: readonly SourceFile[]): ReadonlyMap<string, readonly string[]> => {
  const declared = new Map<string, string[]>()
  for (const { path, exports } of sources)
    for (const { name } of exports) declared.set(name, [...(declared.get(name) ?? []), path])
  return new Map([...declared].filter(([, files]) => new Set(files).size > 1))
}

/** Of each exported name, as `file:name`, the files that import it. */
const importersOf = (sources: readonly SourceFile[]): ReadonlyMap<string, ReadonlySet<string>> => {
  const importers = new Map<string, Set<string>>()
  for (const { path, imports } of sources)
    for (const { file, names } of imports)
      for (const name of names)
        importers.set(`${file}:${name}`, (importers.get(`${file}:${name}`) ?? new Set()).add(path))
  return importers
}

/** Pairs of folders of which each imports from the other, as `a <-> b`. */
export const twoWayFolders = (sources: readonly SourceFile[]): readonly string[] => {
  const edges = new Set<string>()
  for (const { path, imports } of sources)
    for (const { file } of imports) if (dirname(file) !== dirname(path)) edges.add(`${dirname(path)} ${dirname(file)}`)
  return [...edges].flatMap((edge) => {
    const [from = '', to = ''] = edge.split(' ')
    return from < to && edges.has(`${to} ${from}`) ? [`${from} <-> ${to}`] : []
  })
}

const count = (sources: readonly SourceFile[], value: (source: SourceFile) => number): number =>
  sources.reduce((sum, source) => sum + value(source), 0)

const exportsWithOneImporter = (sources: readonly SourceFile[]): number => {
  const importers = importersOf(sources)
  return count(
    sources,
    ({ path, exports }) => exports.filter(({ name }) => importers.get(`${path}:${name}`)?.size === 1).length,
  )
}

export const smallFilesWithOneImporter = (sources: readonly SourceFile[]): readonly SourceFile[] =>
  sources.filter(({ path, codeLines, commentLines }) => {
    const importers = sources.filter(({ imports }) => imports.some(({ file }) => file === path))
    return codeLines + commentLines < smallFileLinesMax && importers.length === 1
  })

/** The figures of a tree, in the order in which they are printed. */
export const measureStructure = (sources: readonly SourceFile[]): Readonly<Record<string, number>> => {
  const codeLines = count(sources, (source) => source.codeLines)
  const commentLines = count(sources, (source) => source.commentLines)
  return {
    files: sources.length,
    'lines of code': codeLines,
    'comment lines in 1,000 lines': Math.round((1_000 * commentLines) / (codeLines + commentLines)),
    'exported names': count(sources, ({ exports }) => exports.length),
    'exported names declared in several files': sharedNames(sources).size,
    'exports with one importer': exportsWithOneImporter(sources),
    [`files under ${smallFileLinesMax} lines with one importer`]: smallFilesWithOneImporter(sources).length,
    [`files under ${smallFileLinesMax} lines`]: sources.filter(
      (each) => each.codeLines + each.commentLines < smallFileLinesMax,
    ).length,
    [`classes above ${classMembersMax} members`]: count(
      sources,
      ({ classes }) => classes.filter(({ members }) => members > classMembersMax).length,
    ),
    [`functions above ${functionLinesMax} lines`]: count(
      sources,
      ({ functions }) => functions.filter(({ lines }) => lines > functionLinesMax).length,
    ),
    'accessors in object literals': count(sources, ({ literalAccessors }) => literalAccessors),
    'pairs of folders that import each other': twoWayFolders(sources).length,
  }
}
