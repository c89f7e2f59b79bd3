/**
 * Makes the npm package in out/: its folder, and model-gateway-<version>.tgz; with `--folder <path>` the folder alone, and types are
 * neither checked nor declared. The packages that the program needs come inside, in the versions of the lock with which it was tested, without what
 * no program loads; the embedded servers are optional packages beside it.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  readonly type: string
  readonly engines: object
  readonly dependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
  readonly peerDependencies: object
  readonly peerDependenciesMeta: object
}

interface LockedPackage {
  readonly version: string
  readonly dev?: true
  readonly optional?: true
  readonly peer?: true
}

const root = fileURLToPath(new URL('../../', import.meta.url))
const { folder } = parseArgs({ options: { folder: { type: 'string' } } }).values
const target = folder ?? join(root, 'out', 'package')
const copied = ['migrations', 'dashboard', 'schemas', 'deploy', 'prices.json', 'README.md', 'LICENSE', 'CHANGELOG.md']

const readObject = <T>(name: string): T => JSON.parse(readFileSync(join(root, name), 'utf8')) as T
const manifest = readObject<Manifest>('package.json')
const { packages } = readObject<{ readonly packages: Readonly<Record<string, LockedPackage>> }>('package-lock.json')

/** Type declarations, source maps, pages and tests; of the tokenizer the other encodings, and other forms of the same. */
const unused = [
  /\.(map|ts|mts|cts|md|markdown|flow)$/,
  /\/@smithy\/[\w-]+\/dist-es$/, // Node loads `dist-cjs`.
  /\/gpt-tokenizer\/(cjs|src|data|esm\/fixtures)$/,
  /\/gpt-tokenizer\/esm\/bpeRanks\/(?!o200k_base)\w+\.js$/,
  /\/csv-parse\/dist\/(?:cjs|iife|umd)$/,
  /\/@opentelemetry\/[\w-]+\/(?:build\/(?:esm|esnext)|dist\/(?:.*\.mjs|(?:index-incubating|experimental_\w+)\.cjs))$/,
  /\/node_modules\/(?:@[\w.-]+\/)?[\w.-]+\/(?:test|tests|benchmarks|docs|dist-types)$/,
]

const copyPackage = (path: string): void => {
  const filter = (from: string): boolean => !unused.some((pattern) => pattern.test(from))
  // A nested package is an entry of the lock by itself.
  cpSync(join(root, path), join(target, path), {
    recursive: true,
    filter: (from) => filter(from) && (from === join(root, path) || basename(from) !== 'node_modules'),
  })
}

const exactVersions = (names: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.keys(names).map((name) => [name, packages[`node_modules/${name}`]?.version ?? '']))

rmSync(target, { recursive: true, force: true })
mkdirSync(target, { recursive: true })
const unchecked = folder === undefined ? [] : ['--noCheck', '--declaration', 'false', '--sourceMap', 'false']
const compile = ['-p', join(root, 'deploy', 'package'), '--outDir', target, ...unchecked]
execFileSync(join(root, 'node_modules', '.bin', 'tsc'), compile, { stdio: 'inherit' })
// Only those of the events can be imported: the others' blocks are a tenth of what is installed.
for (const name of readdirSync(target, { recursive: true, encoding: 'utf8' }))
  if (name.endsWith('.d.ts') && !name.startsWith(join('src', 'events'))) rmSync(join(target, name))
for (const name of copied)
  cpSync(join(root, name), join(target, name), {
    recursive: true,
    filter: (from) => !from.endsWith('.ts') && !from.startsWith(join(root, 'deploy', 'package')),
  })
for (const [path, { dev, optional, peer }] of Object.entries(packages))
  if (path !== '' && dev !== true && optional !== true && peer !== true) copyPackage(path)

const { name, version, description, license, type, engines, dependencies, optionalDependencies } = manifest
const { peerDependencies, peerDependenciesMeta } = manifest
const published = {
  name,
  version,
  description,
  license,
  type,
  engines,
  bin: { gateway: './src/main.js' },
  exports: {
    './events': { types: './src/events/types.d.ts', default: './src/events/types.js' },
    './schemas/*': './schemas/*',
    './prices.json': './prices.json',
    './package.json': './package.json',
  },
  files: ['src', 'sandbox', ...copied.filter((name) => name !== 'README.md' && name !== 'LICENSE')],
  dependencies: exactVersions(dependencies),
  bundleDependencies: Object.keys(dependencies),
  optionalDependencies: exactVersions(optionalDependencies),
  ...{ peerDependencies, peerDependenciesMeta },
}
writeFileSync(join(target, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
if (folder === undefined)
  execFileSync('npm', ['pack', '--silent', '--pack-destination', join(root, 'out'), target], { stdio: 'inherit' })
