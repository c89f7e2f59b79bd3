import { readFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { plantedBugs } from './bugs.ts'
import type { PlantedBug } from './planted-bug.ts'

type RunPlan = typeof import('../run-plan.ts')

const root = new URL('../../../', import.meta.url).href
const parameter = '?planted='
const worldUrl = new URL('../run-plan.ts', import.meta.url).href
const importOf = /\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g

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

/** Of each file of the world and the program, those that import it. */
const findImporters = (entry: string): ReadonlyMap<string, readonly string[]> => {
  const importers = new Map<string, string[]>([[entry, []]])
  for (const file of importers.keys())
    for (const [, specifier = ''] of readStripped(file).matchAll(importOf)) {
      const imported = new URL(specifier, file).href
      if (importers.has(imported)) importers.get(imported)?.push(file)
      else if (imported.endsWith('.ts')) importers.set(imported, [file])
    }
  return importers
}

let importers: ReadonlyMap<string, readonly string[]> | undefined

/** The file of a bug, and all that has it by its imports. Throws where the world has it not. */
const findAffected = (planted: PlantedBug): ReadonlySet<string> => {
  importers ??= findImporters(worldUrl)
  const affected = new Set([urlOf(planted)])
  for (const file of affected) for (const importer of importers.get(file) ?? []) affected.add(importer)
  if (!affected.has(worldUrl)) throw new Error(`the world does not import ${planted.file}`)
  return affected
}

const affectedBy = new Map<string, ReadonlySet<string>>()

let isHooked = false

/** A module that a bug affects has the parameter where one with it imports it; the others are loaded once for all bugs. */
const hook = (): void => {
  if (isHooked) return
  isHooked = true
  registerHooks({
    resolve: (specifier, context, next) => {
      const resolved = next(specifier, context)
      const [, index] = context.parentURL?.split(parameter) ?? []
      if (index === undefined || !affectedBy.get(index)?.has(resolved.url)) return resolved
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
  const planted = findPlanted(name)
  const index = String(plantedBugs.indexOf(planted))
  affectedBy.set(index, findAffected(planted))
  return import(`${worldUrl}${parameter}${index}`) as Promise<RunPlan>
}
