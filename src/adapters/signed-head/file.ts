import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import {
  largerHead,
  parseSignedHead,
  type SignedHead,
  type SignedHeadStore,
  signedHeadText,
} from '../../audit/signed-head.ts'
import { faultCode } from '../../errors/gateway-error.ts'

const ownerOnly = { file: 0o600, folder: 0o700 }

const sync = async (path: string): Promise<void> => {
  const folder = await open(path)
  await folder.sync().finally(() => folder.close())
}

/** A file of one line of JSON, replaced as a whole and synced. Its folder is made if it is missing. */
export const openHeadFile = (path: string): SignedHeadStore => {
  const draft = `${path}.draft`
  const read = async (): Promise<SignedHead | null> => {
    try {
      return parseSignedHead(await readFile(path, 'utf8'), path)
    } catch (fault) {
      if (faultCode(fault) === 'ENOENT') return null
      throw fault
    }
  }
  const replace = async (head: SignedHead): Promise<void> => {
    await mkdir(dirname(path), { recursive: true, mode: ownerOnly.folder })
    const file = await open(draft, 'w', ownerOnly.file)
    await file
      .writeFile(`${signedHeadText(head)}\n`)
      .then(() => file.sync())
      .finally(() => file.close())
    await rename(draft, path)
    await sync(dirname(path))
  }
  return {
    place: path,
    read,
    advance: async (head) => {
      const held = await read()
      if (held !== null && largerHead(head, held) === held) return held
      await replace(head)
      return head
    },
    replace,
  }
}
