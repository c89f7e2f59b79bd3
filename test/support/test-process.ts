import { statfsSync } from 'node:fs'
import { createRequire, registerHooks } from 'node:module'

/**
 * Loaded before a suite or spec. The runner puts its recorder of modules, for coverage and `--changed`, which are not used here, into every
 * process that a test starts: there it takes as long as the start itself.
 */
createRequire(import.meta.url)('process-on-spawn').removeAllListeners()
delete process.env.NODE_OPTIONS

const faultDomainUrl = new URL('fault-domain.ts', import.meta.url).href

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'async-hook-domain' ? { url: faultDomainUrl, shortCircuit: true } : next(specifier, context),
})

/** In memory, where a sync costs nothing. What a killed process had written stays there as on a disk, and no test cuts the power. */
const memoryFolder = '/dev/shm'
/** More than all test files at once take. */
const memoryBytesMin = 4 * 1024 ** 3

const freeBytesOf = (folder: string): number => {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

try {
  if (freeBytesOf(memoryFolder) > memoryBytesMin) process.env['TMPDIR'] = memoryFolder
} catch {
  // There is no such folder here: temporary files are on the disk.
}
