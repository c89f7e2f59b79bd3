import { globSync } from 'node:fs'
import t from 'tap'

/** One of so many parts of about the same size. */
export interface Part {
  readonly part: number
  readonly of: number
}

type End = () => unknown

const root = new URL('../../', import.meta.url)

/** Runs one file here, and ends what it started before another begins. */
const run = async (file: string): Promise<void> => {
  const ends: End[] = []
  t.teardown = (end: End) => {
    ends.push(end)
    return t
  }
  await import(new URL(file, root).href)
  await t.test(`what ${file} started ends`, async () => {
    for (const end of ends.reverse()) await end()
  })
}

/**
 * Runs the test files of a pattern in this process, one after another: they share what a process of their own would have to load, and
 * most are over sooner than it would have started. The runner passes over them itself, by `exclude` in package.json.
 */
export const runTogether = async (pattern: string, { part, of }: Part = { part: 0, of: 1 }): Promise<void> => {
  const files = globSync(pattern, { cwd: root }).sort()
  for (const file of files.filter((_, place) => place % of === part)) await run(file)
}
