import t from 'tap'
import { advisoriesIn } from './advisories.ts'
import { fetchedIn, problemsOfLock } from './lock.ts'

const integrity = `sha512-${'A'.repeat(86)}==`
const manifest = { dependencies: { one: '^1.0.0' }, devDependencies: { two: '2.0.0' } }
const lockOf = (packages: object, root: object = manifest) => ({
  lockfileVersion: 3,
  packages: { '': root, ...packages },
})
const one = { version: '1.0.0', integrity }

t.test('a lock is held to the registry and to hashes', async (t) => {
  const rows: readonly (readonly [lock: Parameters<typeof problemsOfLock>[1], problems: readonly string[]])[] = [
    [lockOf({ 'node_modules/one': one }), []],
    [lockOf({ 'node_modules/one': { ...one, resolved: 'https://registry.npmjs.org/one/-/one-1.0.0.tgz' } }), []],
    [lockOf({ 'node_modules/one/node_modules/two': { version: '2.0.0', inBundle: true } }), []],
    [
      lockOf({ 'node_modules/one': { ...one, resolved: 'git+ssh://git@example.com/one.git' } }),
      ['node_modules/one comes from git+ssh://git@example.com/one.git, not from the registry'],
    ],
    [
      lockOf({ 'node_modules/one': { ...one, resolved: 'https://registry.npmjs.org.evil.example/one.tgz' } }),
      ['node_modules/one comes from https://registry.npmjs.org.evil.example/one.tgz, not from the registry'],
    ],
    [lockOf({ 'node_modules/one': { version: '1.0.0' } }), ['node_modules/one has no SHA-512']],
    [
      lockOf({ 'node_modules/one': { ...one, integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' } }),
      ['node_modules/one has no SHA-512'],
    ],
    [
      lockOf({ 'node_modules/one': { ...one, link: true, resolved: '../one' } }),
      ['node_modules/one is a link', 'node_modules/one comes from ../one, not from the registry'],
    ],
    [lockOf({}, { ...manifest, dependencies: { one: '^2.0.0' } }), ['dependencies are not locked']],
    [
      { lockfileVersion: 1 },
      ['this is no lock of version 3', 'dependencies are not locked', 'devDependencies are not locked'],
    ],
  ]
  for (const [lock, problems] of rows) t.same(problemsOfLock(manifest, lock), problems)
  t.equal(fetchedIn(lockOf({ 'node_modules/one': one, 'node_modules/two': { inBundle: true } })), 1)
})

t.test('what is high or critical is a finding, with its title', async (t) => {
  const vulnerabilities = {
    one: { severity: 'critical', range: '<2.0.0', via: [{ title: 'It leaks', url: 'https://example.com/1' }, 'two'] },
    two: { severity: 'high', range: '*', via: ['three'] },
    three: { severity: 'moderate', range: '*', via: [] },
  }
  const metadata = { dependencies: { prod: 70, dev: 400 } }
  t.same(advisoriesIn(JSON.stringify({ auditReportVersion: 2, vulnerabilities, metadata })), {
    type: 'told',
    packages: 70,
    findings: ['one <2.0.0: critical It leaks (https://example.com/1)', 'two *: high'],
  })
})

t.test('a registry that tells nothing is not taken for one that found nothing', async (t) => {
  const refused = { message: '405 Method Not Allowed - POST https://registry.example/', statusCode: 405 }
  t.same(advisoriesIn(JSON.stringify(refused)), { type: 'unavailable', why: refused.message })
  for (const output of ['', '{}', 'npm error', '{"error":{}}'])
    t.same(advisoriesIn(output), { type: 'unavailable', why: 'npm audit gave no report' })
})
