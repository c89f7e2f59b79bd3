/** The clients from outside, each at one version, in a folder of their own that Git ignores. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const claudeCodeVersion = '2.1.331'
export const codexVersion = '0.169.0'
export const geminiCliVersion = '0.61.0'
export const pythonSdkVersion = '2.12.0'

const folder = fileURLToPath(new URL('../../node_modules/.cache/clients/', import.meta.url))
const installMs = 600_000

const run = (command: string, ...words: readonly string[]): void => {
  const { status, error, stdout, stderr } = spawnSync(command, words, { encoding: 'utf8', timeout: installMs })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`${command} ${words.join(' ')} ended with ${status}:\n${stdout}${stderr}`)
}

/** What Node runs: the package's own launcher, which needs no install script. */
const installFromNpm = (name: string, version: string, path: string): string => {
  const prefix = join(folder, `${name.replaceAll(/\W+/g, '-')}-${version}`)
  const launcher = join(prefix, 'node_modules', name, path)
  const npm = ['install', '--prefix', prefix, '--ignore-scripts', '--no-audit', '--no-fund', '--no-save']
  mkdirSync(prefix, { recursive: true })
  if (!existsSync(launcher)) run('npm', ...npm, `${name}@${version}`)
  return launcher
}

export const installClaudeCode = (): string =>
  installFromNpm('@anthropic-ai/claude-code', claudeCodeVersion, 'cli-wrapper.cjs')

export const installCodex = (): string => installFromNpm('@openai/codex', codexVersion, 'bin/codex.js')

export const installGeminiCli = (): string => installFromNpm('@google/gemini-cli', geminiCliVersion, 'bundle/gemini.js')

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
