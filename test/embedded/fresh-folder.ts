import { chmodSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** A folder that goes when the test ends, after what the test stops at its end; tap's own fixtures do not wait for that. */
export const freshFolder = (test: Test): string => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-embedded-'))
  chmodSync(folder, 0o711)
  test.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }))
  return folder
}
