import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { plantedBugs } from './bugs.ts'
import type { PlantedBug } from './planted-bug.ts'

/** Into a file of the program that is not loaded yet. Throws for a name that no bug has, or that has lost its place. */
export const plant = (name: string): PlantedBug => {
  const planted = plantedBugs.find((each) => each.name === name)
  if (planted === undefined) throw new Error(`there is no planted bug ${JSON.stringify(name)}`)
  const { file, find, replace } = planted
  const url = new URL(`../../../src/${file}`, import.meta.url).href
  const source = readFileSync(new URL(url), 'utf8')
  if (source.split(find).length !== 2) throw new Error(`${file} has not exactly one place for: ${name}`)
  registerHooks({
    load: (loaded, context, next) =>
      loaded === url
        ? { format: 'module-typescript', shortCircuit: true, source: source.replace(find, () => replace) }
        : next(loaded, context),
  })
  return planted
}
