import { globSync } from 'node:fs'

const root = new URL('../', import.meta.url)
const suiteSuffix = '.test.ts'

export interface Suites {
  /** Specs of each suite, by the suite's folder below test/. */
  readonly specs: ReadonlyMap<string, readonly string[]>
  /** Specs below no suite's folder. */
  readonly unloaded: readonly string[]
}

/** A suite `flows.video.test.ts` has the specs of `flows/video`, less those of a suite of a folder below that. */
export const assignSpecs = (files: readonly string[]): Suites => {
  const folders = files
    .filter((file) => file.endsWith(suiteSuffix) && !file.includes('/'))
    .map((file) => file.slice(0, -suiteSuffix.length).replaceAll('.', '/'))
    .toSorted((one, other) => other.length - one.length)
  const specs = files.filter((file) => file.endsWith('.spec.ts')).toSorted()
  const folderOf = (spec: string): string | undefined => folders.find((folder) => spec.startsWith(`${folder}/`))
  return {
    specs: new Map(folders.map((folder) => [folder, specs.filter((spec) => folderOf(spec) === folder)])),
    unloaded: specs.filter((spec) => folderOf(spec) === undefined),
  }
}

/** Suites and specs, as paths from test/. */
export const listTestFiles = (): readonly string[] => globSync('**/*.{test,spec}.ts', { cwd: root })
