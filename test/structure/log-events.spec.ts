import { spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, globSync, readFileSync, symlinkSync } from 'node:fs'
import t from 'tap'
import { logEvents } from '../../src/runtime/log-events.ts'
import { silentLogger } from '../support/log-lines.ts'
import { findUnusedLogEvents } from './log-events.ts'

const sources = globSync('{src,sandbox}/**/*.ts')
  .filter((path) => path !== 'src/runtime/log-events.ts')
  .map((path) => readFileSync(path, 'utf8'))

t.test('every listed code is logged', async (t) => {
  t.same(findUnusedLogEvents(Object.keys(logEvents), sources), [])
  t.match(findUnusedLogEvents(['upstream.attempt_failed', 'upstream.planted'], sources), [/upstream\.planted .* never/])
})

t.test('a code that is not listed, or a line without its fields, does not compile', async () => {
  // @ts-expect-error: not in the catalogue
  silentLogger.log('upstream.planted', {})
  // @ts-expect-error: `fault` is missing
  silentLogger.log('process.fatal', {})
})

t.test('codes and fields follow the rules', async (t) => {
  const reserved = ['level', 'time', 'role', 'instance', 'version', 'event', 'msg', 'unlogged']
  for (const [event, { fields, text, action }] of Object.entries(logEvents)) {
    t.match(event, /^[a-z]+\.[a-z]+(_[a-z]+)*$/)
    t.match(text, /^[A-Z].*\.$/, event)
    t.match(action, /^[A-Z].*\.$/, event)
    t.same(
      fields.filter((field) => reserved.includes(field)),
      [],
      event,
    )
  }
  t.same(Object.keys(logEvents), Object.keys(logEvents).toSorted())
})

t.test('a page that differs from the catalogue fails the check', async (t) => {
  const copy = t.testdir()
  for (const folder of ['schemas', 'src', 'docs']) cpSync(folder, `${copy}/${folder}`, { recursive: true })
  cpSync('package.json', `${copy}/package.json`)
  symlinkSync(`${process.cwd()}/node_modules`, `${copy}/node_modules`)
  const check = () => spawnSync(process.execPath, ['schemas/generate.ts', '--check'], { cwd: copy, encoding: 'utf8' })
  appendFileSync(`${copy}/docs/log-events.md`, '| `upstream.planted` | warn | Planted. | Nothing. | |\n')
  const { status, stderr } = check()
  t.equal(status, 1)
  t.equal(stderr, '../docs/log-events.md differs from its source: run `make generate`\n', 'and nothing else differs')
})
