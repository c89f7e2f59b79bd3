import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs'

/** Replaces a file whole or not at all; only its owner may read it. */
export const writePrivateFile = (path: string, text: string): void => {
  const draft = `${path}.draft`
  const file = openSync(draft, 'w', 0o600)
  try {
    writeFileSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(draft, path)
}
