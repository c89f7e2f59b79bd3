const pad = (bytes: Buffer): string => Buffer.concat([bytes, Buffer.alloc(64)]).toString('base64')

const be16 = (value: number): number[] => [value >> 8, value & 0xff]
const le24 = (value: number): number[] => [value & 0xff, (value >> 8) & 0xff, value >> 16]
const be32 = (value: number): number[] => [...be16(value >>> 16), ...be16(value & 0xffff)]

const text = (characters: string): number[] => [...Buffer.from(characters, 'latin1')]

/** Headers of images without the rest of them, as base64. */
export const png = (width: number, height: number): string =>
  pad(
    Buffer.from([
      ...be32(0x89504e47),
      ...be32(0x0d0a1a0a),
      ...be32(13),
      ...text('IHDR'),
      ...be32(width),
      ...be32(height),
    ]),
  )

export const gif = (width: number, height: number): string =>
  pad(Buffer.from([...text('GIF89a'), ...be16(width).reverse(), ...be16(height).reverse()]))

/** With a segment of metadata before its frame. */
export const jpeg = (width: number, height: number, metadataBytes = 1_000): string =>
  pad(
    Buffer.from([
      ...[0xff, 0xd8, 0xff, 0xe1, ...be16(metadataBytes + 2)],
      ...new Array<number>(metadataBytes).fill(0x20),
      ...[0xff, 0xff, 0xdb, ...be16(4), 0, 0],
      ...[0xff, 0xc2, ...be16(11), 8, ...be16(height), ...be16(width)],
    ]),
  )

const riff = (chunk: string, bytes: readonly number[]): string =>
  pad(Buffer.from([...text('RIFF'), 0, 0, 0, 0, ...text('WEBP'), ...text(chunk), 0, 0, 0, 0, ...bytes]))

export const webp = {
  lossy: (width: number, height: number): string =>
    riff('VP8 ', [0, 0, 0, 0x9d, 0x01, 0x2a, ...be16(width).reverse(), ...be16(height).reverse()]),
  lossless: (width: number, height: number): string =>
    riff('VP8L', [0x2f, ...be32((((height - 1) << 14) | (width - 1)) >>> 0).reverse()]),
  extended: (width: number, height: number): string =>
    riff('VP8X', [0, 0, 0, 0, ...le24(width - 1), ...le24(height - 1)]),
} as const
