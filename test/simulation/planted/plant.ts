import { readFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { plantedBugs } from './bugs.ts'
import type { PlantedBug } from './planted-bug.ts'

type RunPlan = typeof import('../run-plan.ts')

const root = new URL('../../../', import.meta.url).href
const parameter = '?planted='
/** They replace functions of Node, once for the thread. */
const shared: ReadonlySet<string> = new Set(
  ['thread-immediates.ts', 'deterministic-zlib.ts'].map((name) => new URL(`../${name}`, import.meta.url).href),
)

export const findPlanted = (name: string): PlantedBug => {
  const planted = plantedBugs.find((each) => each.name === name)
  if (planted === undefined) throw new Error(`there is no planted bug ${JSON.stringify(name)}`)
  return planted
}

const urlOf = ({ file }: PlantedBug): string => new URL(`src/${file}`, root).href

const readPlanted = (planted: PlantedBug): string => {
  const source = readFileSync(new URL(urlOf(planted)), 'utf8')
  const { name, file, find, replace } = planted
  if (source.split(find).length !== 2) throw new Error(`${file} has not exactly one place for: ${name}`)
  return source.replace(find, () => replace)
}

/** Into a file of the program that is not loaded yet. Throws for a bug that has lost its place. */
export const plant = (planted: PlantedBug): void => {
  const source = readPlanted(planted)
  registerHooks({
    load: (url, context, next) =>
      url === urlOf(planted) ? { format: 'module-typescript', shortCircuit: true, source } : next(url, context),
  })
}

/** Of files that several worlds load. */
const stripped = new Map<string, string>()

const readStripped = (url: string): string => {
  const known = stripped.get(url)
  if (known !== undefined) return known
  const source = stripTypeScriptTypes(readFileSync(new URL(url), 'utf8'))
  stripped.set(url, source)
  return source
}

let isHooked = false

/** Modules that are imported by one with the parameter have it, too: the program and its world are loaded once for each bug. */
const hook = (): void => {
  if (isHooked) return
  isHooked = true
  registerHooks({
    resolve: (specifier, context, next) => {
      const resolved = next(specifier, context)
      const [, index] = context.parentURL?.split(parameter) ?? []
      const isOwn = resolved.url.startsWith(root) && !resolved.url.includes('/node_modules/')
      if (index === undefined || !isOwn || shared.has(resolved.url)) return resolved
      return { ...resolved, url: `${resolved.url}${parameter}${index}` }
    },
    load: (url, context, next) => {
      const [file = '', index] = url.split(parameter)
      if (index === undefined || !file.endsWith('.ts')) return next(url, context)
      const planted = plantedBugs[Number(index)]!
      const source = file === urlOf(planted) ? stripTypeScriptTypes(readPlanted(planted)) : readStripped(file)
      return { format: 'module', shortCircuit: true, source }
    },
  })
}

/** The world with the program that has the bug; those of others may be in the same process. */
export const loadPlantedWorld = (name: string): Promise<RunPlan> => {
  hook()
  return import(`../run-plan.ts${parameter}${plantedBugs.indexOf(findPlanted(name))}`) as Promise<RunPlan>
}
