import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Manifest } from '../../src/adapters/archive/manifest.ts'
import { encodeFrameRecord } from '../../src/adapters/archive/records.ts'
import type { RawFrame } from '../../src/log/raw-frames.ts'

/** Puts other frames into an archive's first segment, and makes its manifest agree: what whoever lacks the key can do. */
export const forgeArchive = async (
  folder: string,
  frames: readonly RawFrame[],
  forge: (text: string) => string,
): Promise<void> => {
  const path = join(folder, 'manifest.json')
  const manifest = JSON.parse(await readFile(path, 'utf8')) as Manifest
  const [first, ...others] = manifest.segments
  if (first === undefined) throw new Error('an archive without segments cannot be forged')
  const records = frames
    .slice(0, first.last)
    .map((frame) => encodeFrameRecord({ ...frame, data: Buffer.from(forge(Buffer.from(frame.data).toString())) }))
  const file = gzipSync(Buffer.concat(records))
  await writeFile(join(folder, first.file), file)
  const sha256 = createHash('sha256').update(file).digest('hex')
  const bytes = Buffer.concat(records).length
  const segments = [{ ...first, bytes, file_bytes: file.length, sha256 }, ...others]
  await writeFile(path, JSON.stringify({ ...manifest, segments }))
}
