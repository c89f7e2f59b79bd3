import { chmodSync, mkdtempSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { prepareDataFolder } from '../support/clusters.ts'

/** A folder that goes when the test ends, after what the test stops at its end; tap's own fixtures do not wait for that. */
export const freshFolder = (test: Test): string => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-embedded-'))
  chmodSync(folder, 0o711)
  test.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }))
  return folder
}

/** A data folder whose PostgreSQL is made already: the test is not about that. */
export const preparedDataFolder = async (test: Test): Promise<string> => {
  const folder = join(freshFolder(test), 'data')
  await mkdir(folder)
  await prepareDataFolder(folder)
  return folder
}
