import type { StoredEvent } from './upcast.ts'

export interface FrameId {
  readonly writer: string
  /** From 1, never reused. */
  readonly counter: number
}

interface DecodedFrame extends FrameId {
  readonly events: readonly StoredEvent[]
}

export const frameIdText = ({ writer, counter }: FrameId): string => `${writer}:${counter}`

/** A frame's text: its header on the first line, then one event a line. `lines` are events in JSON. */
export const encodeFrame = (id: FrameId, lines: readonly string[]): string =>
  `{"frame":"${frameIdText(id)}","events":${lines.length}}\n${lines.join('\n')}`

interface FrameHeader {
  readonly frame: string
  readonly events: number
}

const isRecord = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === 'object' && value !== null

const isFrameHeader = (value: unknown): value is FrameHeader =>
  isRecord(value) && typeof value['frame'] === 'string' && typeof value['events'] === 'number'

const attributes = ['id', 'source', 'type', 'time', 'subject', 'dataschema'] as const

const isStoredEvent = (value: unknown): value is StoredEvent =>
  isRecord(value) &&
  value['specversion'] === '1.0' &&
  attributes.every((name) => typeof value[name] === 'string') &&
  (value['actor'] === undefined || typeof value['actor'] === 'string')

const parseFrameId = (text: string): FrameId => {
  const [, writer, counter] = /^([^\s:]+):([1-9][0-9]{0,14})$/.exec(text) ?? []
  if (writer === undefined) throw new Error(`not a frame id: ${JSON.stringify(text)}`)
  return { writer, counter: Number(counter) }
}

const parseHeader = (line: string): FrameHeader => {
  const header: unknown = JSON.parse(line)
  if (!isFrameHeader(header)) throw new Error('the first line is not a frame header')
  return header
}

/** Throws when the line is not an event in its envelope. */
export const decodeEvent = (line: string): StoredEvent => {
  const event: unknown = JSON.parse(line)
  if (!isStoredEvent(event)) throw new Error('a line is not an event')
  return event
}

/** Throws when the line is not a frame header. */
export const decodeFrameId = (headerLine: string): FrameId => parseFrameId(parseHeader(headerLine).frame)

/** Throws when the header, the count or the envelope of an event is not what `encodeFrame` writes. */
export const decodeFrame = (text: string): DecodedFrame => {
  const [headerLine, ...lines] = text.split('\n')
  const header = parseHeader(headerLine ?? '')
  if (header.events !== lines.length)
    throw new Error(`frame ${header.frame} announces ${header.events} events and holds ${lines.length}`)
  return { ...parseFrameId(header.frame), events: lines.map(decodeEvent) }
}
