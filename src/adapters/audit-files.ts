import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  largerHead,
  parseSignedHead,
  type SignedHead,
  type SignedHeadStore,
  signedHeadText,
} from '../audit/signed-head.ts'
import { type CosignedStore, originHash } from '../audit/witness.ts'
import { faultCode } from '../errors/gateway-error.ts'

const ownerOnly = { file: 0o600, folder: 0o700 }

const sync = async (path: string): Promise<void> => {
  const folder = await open(path)
  await folder.sync().finally(() => folder.close())
}

/** Replaces the whole file; resolves once it is on disk. A missing folder is made. Only their owner may read both. */
const writeDurably = async (path: string, text: string): Promise<void> => {
  const draft = `${path}.draft`
  await mkdir(dirname(path), { recursive: true, mode: ownerOnly.folder })
  const file = await open(draft, 'w', ownerOnly.file)
  await file
    .writeFile(text)
    .then(() => file.sync())
    .finally(() => file.close())
  await rename(draft, path)
  await sync(dirname(path))
}

/** Null where there is no such file. */
const readIfPresent = async (path: string): Promise<string | null> => {
  try {
    return await readFile(path, 'utf8')
  } catch (fault) {
    if (faultCode(fault) === 'ENOENT') return null
    throw fault
  }
}

/** A file of one line of JSON. Its folder is made if it is missing. */
export const openHeadFile = (path: string): SignedHeadStore => {
  const read = async (): Promise<SignedHead | null> => {
    const text = await readIfPresent(path)
    return text === null ? null : parseSignedHead(text, path)
  }
  const replace = (head: SignedHead): Promise<void> => writeDurably(path, `${signedHeadText(head)}\n`)
  return {
    place: path,
    read,
    advance: async (head) => {
      const held = await read()
      if (held !== null && largerHead(head, held, ['what is to be stored', path]) === held) return held
      await replace(head)
      return head
    },
    replace,
  }
}

/** A file for each log: the checkpoint that was cosigned last, as anyone may read it. */
export const openCosignedFolder = (folder: string): CosignedStore => {
  const fileOf = (origin: string): string => join(folder, `${originHash(origin)}.checkpoint`)
  return {
    read: (origin) => readIfPresent(fileOf(origin)),
    write: (origin, note) => writeDurably(fileOf(origin), note),
  }
}
