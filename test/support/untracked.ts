import asyncHooks, { type AsyncHook } from 'node:async_hooks'
import { statfsSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/**
 * Loaded before a test file. The runner would record every module that a test loads and read its source map, for coverage and `--changed`,
 * which are not used here: more than half of what a small test file costs. No program that a test starts is recorded either.
 */
process.env._TAPJS_PROCESSINFO_EXCLUDE_ = '/^/'
delete process.env.NODE_OPTIONS

/**
 * The runner would follow every promise to its collection, to say in which subtest a fault arose that nobody awaits: a seventh of what a
 * test file costs. Such a fault fails the file all the same, with its own stack.
 */
const untraced: AsyncHook = {
  enable() {
    return this
  },
  disable() {
    return this
  },
}
asyncHooks.createHook = () => untraced
syncBuiltinESMExports()

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
