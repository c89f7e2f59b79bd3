import type { Dimensions } from '../../../../domain/video/checked-request.ts'

const pngSignature = '89504e470d0a1a0a'
const headerBytes = 32

const readPng = (bytes: Buffer): Dimensions | null =>
  bytes.toString('latin1', 12, 16) === 'IHDR' ? { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) } : null

const readGif = (bytes: Buffer): Dimensions => ({ width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) })

const readWebp = (bytes: Buffer): Dimensions | null => {
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const sizes = bytes.readUInt32LE(21)
      return { width: (sizes & 0x3fff) + 1, height: ((sizes >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
    default:
      return null
  }
}

/** Markers without a length. */
const isBare = (marker: number): boolean => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)
/** The start of a frame, in any coding; the three excluded markers are tables. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc

const readJpeg = (bytes: Buffer): Dimensions | null => {
  let at = 2
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1]!
    if (isFrame(marker)) return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    if (marker === 0xff) at += 1
    else at += isBare(marker) ? 2 : 2 + Math.max(2, bytes.readUInt16BE(at + 2))
  }
  return null
}

const read = (bytes: Buffer): Dimensions | null => {
  if (bytes.length < headerBytes) return null
  if (bytes.toString('hex', 0, 8) === pngSignature) return readPng(bytes)
  if (/^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6))) return readGif(bytes)
  if (bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP') return readWebp(bytes)
  return bytes.toString('hex', 0, 3) === 'ffd8ff' ? readJpeg(bytes) : null
}

/** The pixels of a PNG, JPEG, WebP or GIF image by its header alone; null where there is none. */
export const readImageDimensions = (base64: string): Dimensions | null => read(Buffer.from(base64, 'base64'))
