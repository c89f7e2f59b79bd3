/** Prints the figures of the source tree; with `--details` also what is behind those that `make check` bounds. */
import { measureStructure, sharedNames, twoWayFolders } from './measure.ts'
import { readSources } from './sources.ts'

const sources = readSources('src/**/*.ts')
for (const [name, value] of Object.entries(measureStructure(sources)))
  console.log(`${value.toLocaleString('en').padStart(8)}  ${name}`)
if (process.argv.includes('--details')) {
  for (const [name, files] of sharedNames(sources)) console.log(`${name}: ${files.join(' ')}`)
  for (const pair of twoWayFolders(sources)) console.log(pair)
}
