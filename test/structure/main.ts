/** Prints the figures of the source tree; with `--details` also what is behind those that `make check` bounds. */
import { classMembersMax, measureStructure, sharedNames, smallFilesWithOneImporter, twoWayFolders } from './measure.ts'
import { readSources } from './sources.ts'

const sources = readSources('src/**/*.ts')
for (const [name, value] of Object.entries(measureStructure(sources)))
  console.log(`${value.toLocaleString('en').padStart(8)}  ${name}`)
if (process.argv.includes('--details')) {
  for (const [name, files] of sharedNames(sources)) console.log(`${name}: ${files.join(' ')}`)
  for (const pair of twoWayFolders(sources)) console.log(pair)
  for (const { path, classes } of sources)
    for (const { name, members } of classes)
      if (members > classMembersMax) console.log(`${path}: class ${name}: ${members} members`)
  for (const { path } of smallFilesWithOneImporter(sources)) console.log(`${path}: small, with one importer`)
}
