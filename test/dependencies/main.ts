/**
 * Holds the lock to the registry and to hashes, and asks the registry for advisories on what the program runs on. Ends with 1 where
 * something is found. A registry without advisories is told, and fails only where AUDIT_REQUIRED is set: it is no word on any package.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { asObject, parseJson } from '../../src/encoding/json.ts'
import { type Advisories, advisoriesIn } from './advisories.ts'
import { fetchedIn, problemsOfLock } from './lock.ts'

const auditMs = 60_000
const isRequired = (process.env['AUDIT_REQUIRED'] ?? '') !== ''

const read = (name: string) => asObject(parseJson(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')))

const ask = (): Advisories => {
  const words = ['audit', '--json', '--omit=dev', '--audit-level=high']
  const { stdout, error } = spawnSync('npm', words, { encoding: 'utf8', timeout: auditMs })
  return error === undefined ? advisoriesIn(stdout) : { type: 'unavailable', why: error.message }
}

const fail = (line: string): void => {
  console.error(line)
  process.exitCode = 1
}

const lock = read('package-lock.json')
for (const problem of problemsOfLock(read('package.json'), lock)) fail(`package-lock.json: ${problem}`)
if (process.exitCode === undefined)
  console.log(`package-lock.json: ${fetchedIn(lock)} packages, each from the registry and held to its SHA-512`)

const advisories = ask()
if (advisories.type === 'unavailable') {
  const line = `No package was audited: the registry told no advisories (${advisories.why}).`
  if (isRequired) fail(line)
  else console.warn(`${line} AUDIT_REQUIRED=1 makes this fail.`)
} else {
  for (const finding of advisories.findings) fail(finding)
  if (advisories.findings.length === 0)
    console.log(`npm audit: nothing high or critical in ${advisories.packages} packages`)
}
