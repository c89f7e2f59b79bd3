import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { plantedBugs } from './bugs.ts'

const script = fileURLToPath(new URL('run.ts', import.meta.url))

/** What violates a planted bug within three seeds; null for none. */
const violationOf = async (bug: string): Promise<string | null> => {
  const { stdout } = await promisify(execFile)(process.execPath, [script, bug, '3', '100'])
  const { violation } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as { readonly violation: string | null }
  return violation
}

t.test('every planted bug has its place in the source', async (t) => {
  for (const { name, file, find } of plantedBugs) {
    const source = await readFile(new URL(`../../../src/${file}`, import.meta.url), 'utf8')
    t.equal(source.split(find).length, 2, name)
  }
})

t.test('bugs that are put into the program are detected', async (t) => {
  t.match(
    await violationOf('an append is acknowledged before it is stored'),
    /sent to a provider before the log has it/,
  )
  t.match(await violationOf('a charge is not drawn from its hold'), /by its events/)
  t.match(await violationOf('what is reserved counts as free'), /reserve \d+, it has \d+/)
})
