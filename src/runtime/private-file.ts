import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { faultCode } from '../errors/gateway-error.ts'

export const ownerOnly = 0o600

const synced = (path: string, flags: string, work: (file: number) => void = () => {}): void => {
  const file = openSync(path, flags, ownerOnly)
  try {
    work(file)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Atomic; only its owner may read it. */
export const writePrivateFile = (path: string, text: string): void => {
  const draft = `${path}.draft`
  synced(draft, 'w', (file) => writeFileSync(file, text))
  renameSync(draft, path)
}

/** Atomic; an existing file stays, also where several processes do so at once. Only its owner may read it. */
export const createPrivateFile = (path: string, text: string): void => {
  const draft = `${path}.${process.pid}`
  synced(draft, 'w', (file) => writeFileSync(file, text))
  try {
    linkSync(draft, path)
  } catch (fault) {
    if (faultCode(fault) !== 'EEXIST') throw fault
  } finally {
    rmSync(draft)
  }
  synced(dirname(path), 'r')
}
