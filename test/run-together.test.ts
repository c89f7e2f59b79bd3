import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import packageJson from '../package.json' with { type: 'json' }

const root = new URL('../', import.meta.url)

/** Of a file below test/as-one, with the part of each that it runs; a whole is one of one. */
const calls = /runTogether\(\s*'([^']+)',?\s*(?:\{ part: (\d+), of: (\d+) \},?\s*)?\)/g

t.test('what the runner passes over runs together with others, once', async (t) => {
  const parts = new Map<string, string[]>()
  for (const file of globSync('test/as-one/*.test.ts', { cwd: root }))
    for (const [, pattern = '', part = '0', of = '1'] of readFileSync(new URL(file, root), 'utf8').matchAll(calls))
      parts.set(pattern, [...(parts.get(pattern) ?? []), `${part} of ${of}`])
  t.same([...parts.keys()].toSorted(), packageJson.tap.exclude.toSorted())
  for (const [pattern, found] of parts) {
    t.same(
      found.toSorted(),
      found.map((_, part) => `${part} of ${found.length}`),
      `${pattern} in all its parts`,
    )
  }
  const files = [...parts.keys()].flatMap((pattern) => globSync(pattern, { cwd: root }))
  t.equal(new Set(files).size, files.length)
})
