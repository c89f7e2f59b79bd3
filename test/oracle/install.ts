/** The calculators from outside, each at one version, in a folder that Git ignores. */
import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const requirements = pathOf('requirements.txt')
const installMs = 900_000

const run = (command: string, ...words: readonly string[]): void => {
  const { status, error, stdout, stderr } = spawnSync(command, words, { encoding: 'utf8', timeout: installMs })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`${command} ${words.join(' ')} ended with ${status}:\n${stdout}${stderr}`)
}

export interface Calculators {
  readonly python: string
  /** LiteLLM's table of prices, as the installed version has it. */
  readonly table: string
}

/** Without dependencies: `requirements.txt` lists all that the calculators import, and the packages ask for more. */
export const installCalculators = (): Calculators => {
  const version = hash('sha256', readFileSync(requirements, 'utf8')).slice(0, 12)
  const venv = pathOf(`../../node_modules/.cache/oracle-${version}`)
  const python = join(venv, 'bin/python')
  if (!existsSync(join(venv, 'installed'))) {
    run('python3', '-m', 'venv', venv)
    run(python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', '-r', requirements)
    run('touch', join(venv, 'installed'))
  }
  const located = spawnSync(python, ['-c', 'import sysconfig; print(sysconfig.get_path("purelib"))'], {
    encoding: 'utf8',
  })
  return { python, table: join(located.stdout.trim(), 'litellm/model_prices_and_context_window_backup.json') }
}
