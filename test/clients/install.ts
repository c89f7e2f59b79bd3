/** The clients from outside, each at one version, in a folder of their own that Git ignores. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const claudeCodeVersion = '2.1.330'
export const pythonSdkVersion = '2.12.0'

const folder = fileURLToPath(new URL('../../node_modules/.cache/clients/', import.meta.url))
const installMs = 600_000

const run = (command: string, ...words: readonly string[]): void => {
  const { status, error, stdout, stderr } = spawnSync(command, words, { encoding: 'utf8', timeout: installMs })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`${command} ${words.join(' ')} ended with ${status}:\n${stdout}${stderr}`)
}

/** What Node runs as Claude Code: the package's own launcher, which needs no install script. */
export const installClaudeCode = (): string => {
  const prefix = join(folder, `claude-code-${claudeCodeVersion}`)
  const launcher = join(prefix, 'node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs')
  const npm = ['install', '--prefix', prefix, '--ignore-scripts', '--no-audit', '--no-fund', '--no-save']
  mkdirSync(prefix, { recursive: true })
  if (!existsSync(launcher)) run('npm', ...npm, `@anthropic-ai/claude-code@${claudeCodeVersion}`)
  return launcher
}

/** The Python that has the SDK. */
export const installPythonSdk = (): string => {
  const venv = join(folder, `python-${pythonSdkVersion}`)
  const python = join(venv, 'bin/python')
  if (existsSync(join(venv, 'installed'))) return python
  run('python3', '-m', 'venv', venv)
  run(python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `anthropic==${pythonSdkVersion}`)
  run('touch', join(venv, 'installed'))
  return python
}
