import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { faultCode } from '../errors/gateway-error.ts'

export type Environment = Readonly<Record<string, string | undefined>>

interface VariableProblem {
  readonly path: string
  readonly message: string
}

const othersRead = 0o004
const othersEnter = 0o001

const hasMode = (path: string, bit: number): boolean => (statSync(path).mode & bit) !== 0

const canBeEntered = (folder: string): boolean =>
  hasMode(folder, othersEnter) && (folder === dirname(folder) || canBeEntered(dirname(folder)))

/** By its own mode and those of all folders above it. */
const isReadByAll = (file: string): boolean => {
  const real = realpathSync(file)
  return hasMode(real, othersRead) && canBeEntered(dirname(real))
}

/** Variables, or the files that `<NAME>_FILE` names, and other files. Problems are collected, to report all mistakes at once. */
export class EnvironmentVariables {
  readonly #env: Environment
  readonly #problems: VariableProblem[] = []
  readonly #exposed = new Set<string>()
  readonly #files = new Set<string>()
  readonly #texts = new Map<string, string>()
  /** Read in place of the files. */
  readonly #former: ReadonlyMap<string, string> | undefined

  constructor(env: Environment, former?: EnvironmentVariables['texts']) {
    this.#env = env
    this.#former = former
  }

  get problems(): readonly VariableProblem[] {
    return this.#problems
  }

  get exposed(): readonly string[] {
    return [...this.#exposed]
  }

  get files(): readonly string[] {
    return [...this.#files]
  }

  /** Of the files, by their paths. */
  get texts(): ReadonlyMap<string, string> {
    return this.#texts
  }

  hasFile(file: string): boolean {
    return this.#former?.has(file) ?? existsSync(file)
  }

  /** Throws where it cannot be read. */
  readFile(file: string): string {
    this.#files.add(file)
    const text = this.#former?.get(file) ?? readFileSync(file, 'utf8')
    this.#texts.set(file, text)
    return text
  }

  /** Does not read the value. */
  has(name: string): boolean {
    return Boolean(this.#env[name] || this.#env[`${name}_FILE`])
  }

  /** Undefined where the variable is not set; one that cannot be read is a problem, and stays `${NAME}`. */
  read(name: string): string | undefined {
    const value = this.#env[name] || undefined
    const file = this.#env[`${name}_FILE`] || undefined
    if (file === undefined) return value
    if (value === undefined) return this.#contentOf(name, file)
    return this.#fail(name, `excludes ${name}: give one of them`)
  }

  /** A file that cannot be inspected is skipped: reading it reports the fault. */
  noteSecretFile(file: string): void {
    try {
      if (isReadByAll(file)) this.#exposed.add(file)
    } catch {}
  }

  #contentOf(name: string, file: string): string {
    try {
      const content = this.readFile(file).replace(/\r?\n$/, '')
      this.noteSecretFile(file)
      return content === '' ? this.#fail(name, `the file ${file} is empty`) : content
    } catch (fault) {
      return this.#fail(name, `the file ${file} cannot be read: ${faultCode(fault)}`)
    }
  }

  #fail(name: string, message: string): string {
    const path = `${name}_FILE`
    if (!this.#problems.some((problem) => problem.path === path)) this.#problems.push({ path, message })
    return `\${${name}}`
  }
}
