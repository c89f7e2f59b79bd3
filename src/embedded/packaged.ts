import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'

const folderOf = (path: string): string => {
  const folder = dirname(path)
  return existsSync(join(folder, 'package.json')) ? folder : folderOf(folder)
}

/** npm packs no symbolic links: the package makes them in an install script, which is not run with `--ignore-scripts`. */
const linkLibraries = (folder: string): void => {
  const list = join(folder, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links = JSON.parse(readFileSync(list, 'utf8')) as readonly {
    readonly source: string
    readonly target: string
  }[]
  for (const { source, target } of links) {
    const path = join(folder, target)
    if (existsSync(path) || dirname(source) !== dirname(target)) continue
    try {
      symlinkSync(basename(source), path)
    } catch (error) {
      throw new Error(`${path} is missing and cannot be made: run \`npm rebuild\` as the user who installed it`, {
        cause: error,
      })
    }
  }
}

/** The folder of an optional package. Throws an error with what to do where it is not installed. */
export const findPackage = (packageName: string): string => {
  let main: string
  try {
    main = createRequire(import.meta.url).resolve(packageName)
  } catch (error) {
    throw new Error(`${packageName} is not installed: npm leaves it out with --omit=optional`, { cause: error })
  }
  const folder = folderOf(main)
  linkLibraries(folder)
  return folder
}
