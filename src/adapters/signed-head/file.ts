import { mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import {
  largerHead,
  parseSignedHead,
  type SignedHead,
  type SignedHeadStore,
  signedHeadText,
} from '../../audit/signed-head.ts'
import { faultCode } from '../../errors/gateway-error.ts'
import { writePrivateFile } from '../../runtime/private-file.ts'

/** A file of one line of JSON, replaced as a whole and synced. Its folder is made if it is missing. */
export const openHeadFile = (path: string): SignedHeadStore => {
  const read = (): SignedHead | null => {
    try {
      return parseSignedHead(readFileSync(path, 'utf8'), path)
    } catch (fault) {
      if (faultCode(fault) === 'ENOENT') return null
      throw fault
    }
  }
  const write = (head: SignedHead): void => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writePrivateFile(path, `${signedHeadText(head)}\n`)
  }
  return {
    place: path,
    read: async () => read(),
    advance: async (head) => {
      const held = read()
      if (held !== null && largerHead(head, held) === held) return held
      write(head)
      return head
    },
    replace: async (head) => write(head),
  }
}
