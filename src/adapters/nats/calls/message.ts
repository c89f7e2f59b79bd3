import { natsLimits } from '../limits.ts'

/** Encoding of what is sent over a link. All numbers are big-endian. */

export const protocolVersion = 1

/** From the edge: `piece` of a call, `cancel`. From the proxy: the others. Both: `credit`. */
const packetKinds = ['piece', 'credit', 'cancel', 'accepted', 'head', 'bytes', 'end', 'fault'] as const
export type PacketKind = (typeof packetKinds)[number]

export interface Packet {
  readonly call: number
  readonly kind: PacketKind
  readonly payload: Uint8Array
}

/**
 * `packets` are numbered. The others are not, and carry the last number assigned: `ack` reports what was received,
 * `missing` requests all that follows it again, `ping` requests either, `reset` reports that there is no such link.
 */
const messageTypes = ['packets', 'ack', 'missing', 'ping', 'reset'] as const
export type MessageType = (typeof messageTypes)[number]

export interface MessageHeader {
  readonly type: MessageType
  /** The sender's incarnation of the link. */
  readonly from: number
  /** The receiver's, as far as the sender knows; 0 when not known yet. */
  readonly to: number
  readonly number: number
  /** The number up to which all messages from the other side were received. */
  readonly received: number
}

export interface LinkMessage extends MessageHeader {
  readonly packets: readonly Packet[]
}

export const noBytes = new Uint8Array(0)

/** A proxy of another release takes a reason that it does not know for that of a client that is gone. */
export const cancelReasons = {
  clientGone: noBytes,
  cancelAtOnce: Buffer.from('cancel_at_once'),
  shutdown: Buffer.from('shutdown'),
} as const satisfies { readonly [reason: string]: Uint8Array }

export const isCancelReason = (payload: Uint8Array, reason: keyof typeof cancelReasons): boolean =>
  Buffer.compare(payload, cancelReasons[reason]) === 0

export const headerBytes = 22
const packetHeaderBytes = 9
const numberBytes = 6
const at = { version: 0, type: 1, from: 2, to: 6, number: 10, received: 16 } as const

const viewOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const codeOf = <T>(names: readonly T[]): Map<T, number> => new Map(names.map((name, index) => [name, index + 1]))
const typeCodes = codeOf(messageTypes)
const kindCodes = codeOf(packetKinds)

export const packetBytes = ({ payload }: Packet): number => packetHeaderBytes + payload.length

const writePacket = (message: Buffer, offset: number, { call, kind, payload }: Packet): number => {
  message.writeUInt32BE(call, offset)
  message[offset + 4] = kindCodes.get(kind)!
  message.writeUInt32BE(payload.length, offset + 5)
  message.set(payload, offset + packetHeaderBytes)
  return offset + packetHeaderBytes + payload.length
}

/** Leaves room for the header, which `stamp` writes at each send. */
export const encodePackets = (packets: readonly Packet[]): Buffer => {
  const message = Buffer.allocUnsafe(packets.reduce((sum, packet) => sum + packetBytes(packet), headerBytes))
  let offset = headerBytes
  for (const packet of packets) offset = writePacket(message, offset, packet)
  return message
}

export const stamp = (message: Buffer, { type, from, to, number, received }: MessageHeader): Buffer => {
  message[at.version] = protocolVersion
  message[at.type] = typeCodes.get(type)!
  message.writeUInt32BE(from, at.from)
  message.writeUInt32BE(to, at.to)
  message.writeUIntBE(number, at.number, numberBytes)
  message.writeUIntBE(received, at.received, numberBytes)
  return message
}

export const encodeHeader = (header: MessageHeader): Buffer => stamp(Buffer.allocUnsafe(headerBytes), header)

/** Null when there is no packet at the offset. The payload is a view. */
const readPacket = (message: Buffer, offset: number): Packet | null => {
  const start = offset + packetHeaderBytes
  if (start > message.length) return null
  const kind = packetKinds[message[offset + 4]! - 1]
  const end = start + message.readUInt32BE(offset + 5)
  if (kind === undefined || end > message.length) return null
  return { call: message.readUInt32BE(offset), kind, payload: message.subarray(start, end) }
}

const readPackets = (message: Buffer): readonly Packet[] | null => {
  const packets: Packet[] = []
  for (let offset = headerBytes; offset < message.length; ) {
    const packet = readPacket(message, offset)
    if (packet === null) return null
    packets.push(packet)
    offset += packetBytes(packet)
  }
  return packets
}

/** Null where the bytes are no message. Payloads are views of the bytes. */
export const decodeMessage = (bytes: Uint8Array): LinkMessage | null => {
  const message = viewOf(bytes)
  if (message.length < headerBytes || message[at.version] !== protocolVersion) return null
  const type = messageTypes[message[at.type]! - 1]
  const packets = readPackets(message)
  const from = message.readUInt32BE(at.from)
  if (type === undefined || packets === null) return null
  return {
    type,
    from,
    to: message.readUInt32BE(at.to),
    number: message.readUIntBE(at.number, numberBytes),
    received: message.readUIntBE(at.received, numberBytes),
    packets,
  }
}

export interface Opening {
  readonly call: number
  /** Bytes of the answer that may be sent before more are granted. */
  readonly creditBytes: number
  readonly totalBytes: number
  readonly firstPiece: Uint8Array
}

export const openingHeaderBytes = 13

export const encodeOpening = ({ call, creditBytes, totalBytes, firstPiece }: Opening): Buffer => {
  const message = Buffer.allocUnsafe(openingHeaderBytes + firstPiece.length)
  message[0] = protocolVersion
  message.writeUInt32BE(call, 1)
  message.writeUInt32BE(creditBytes, 5)
  message.writeUInt32BE(totalBytes, 9)
  message.set(firstPiece, openingHeaderBytes)
  return message
}

/** A proxy's reply to an opening of another version: its own, in one byte. This must never change. */
export const encodeRefusal = (): Uint8Array => Uint8Array.of(protocolVersion)

export const isVersionRefusal = (bytes: Uint8Array): boolean => bytes.length === 1

/** The version of an opening or a refusal: the first byte in all versions. */
export const openingVersion = (bytes: Uint8Array): number => bytes[0] ?? 0

export const decodeOpening = (bytes: Uint8Array): Opening | null => {
  const message = viewOf(bytes)
  if (message.length < openingHeaderBytes) return null
  const firstPiece = message.subarray(openingHeaderBytes)
  const totalBytes = message.readUInt32BE(9)
  if (firstPiece.length > totalBytes || totalBytes > natsLimits.callsCallBytesMax) return null
  return { call: message.readUInt32BE(1), creditBytes: message.readUInt32BE(5), totalBytes, firstPiece }
}

const creditPayloadBytes = 4

export const encodeCredit = (bytes: number): Uint8Array => {
  const payload = Buffer.allocUnsafe(creditPayloadBytes)
  payload.writeUInt32BE(bytes)
  return payload
}

export const decodeCredit = (payload: Uint8Array): number =>
  payload.length === creditPayloadBytes ? viewOf(payload).readUInt32BE() : 0
