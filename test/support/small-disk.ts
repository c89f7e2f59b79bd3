import { execFileSync } from 'node:child_process'
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { faultCode } from '../../src/errors/gateway-error.ts'

/** A small file system of its own. */
export interface SmallDisk {
  readonly folder: string
  /** Takes all the room that is left. */
  fill(): void
  free(): void
}

/** Why no small disk can be had here, for a test that is skipped then. */
export const noSmallDisk = 'no file system may be mounted here (that takes root and CAP_SYS_ADMIN)'

const fillFile = (path: string): void => {
  const file = openSync(path, 'w')
  try {
    for (const bytes of [1024 * 1024, 4_096])
      try {
        for (;;) writeSync(file, new Uint8Array(bytes))
      } catch (fault) {
        if (faultCode(fault) !== 'ENOSPC') throw fault
      }
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** A file system in memory; null where this process may mount none. It goes when the test ends. */
export const mountSmallDisk = async (t: Test, megabytes: number): Promise<SmallDisk | null> => {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=755`, 'gateway-test', folder], {
      stdio: 'pipe',
    })
  } catch {
    await rm(folder, { recursive: true })
    return null
  }
  t.teardown(async () => {
    execFileSync('umount', ['-l', folder])
    await rm(folder, { recursive: true })
  })
  const path = join(folder, 'filler')
  return { folder, fill: () => fillFile(path), free: () => rmSync(path, { force: true }) }
}
