/** litewitness and a check by its library, at one version, in a folder that Git ignores. */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const version = 'v0.9.0'
const installMs = 900_000

export interface OutsideWitness {
  readonly litewitness: string
  /** Reads a note from its input, and the keys of log and witness from its arguments. */
  readonly openNote: string
}

export const installWitness = (): OutsideWitness => {
  const folder = pathOf(`../../node_modules/.cache/torchwood-${version}`)
  const bin = join(folder, 'bin')
  mkdirSync(bin, { recursive: true })
  const run = (cwd: string, ...words: readonly string[]): void => {
    const env = { ...process.env, GOPATH: join(folder, 'path'), GOBIN: bin, GOFLAGS: '-modcacherw -mod=mod' }
    const { status, error, stderr } = spawnSync('go', words, { cwd, env, encoding: 'utf8', timeout: installMs })
    if (error !== undefined) throw error
    if (status !== 0) throw new Error(`go ${words.join(' ')} ended with ${status}:\n${stderr}`)
  }
  const [litewitness, openNote] = [join(bin, 'litewitness'), join(bin, 'opennote')]
  if (!existsSync(litewitness)) run(folder, 'install', `filippo.io/torchwood/cmd/litewitness@${version}`)
  if (!existsSync(openNote)) {
    const source = join(folder, 'opennote')
    cpSync(pathOf('opennote'), source, { recursive: true })
    run(source, 'install', '.')
  }
  return { litewitness, openNote }
}
