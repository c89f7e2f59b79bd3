const field = Buffer.from('data:')
const key = Buffer.from('"usage"')

const space = 32
const quote = 34
const comma = 44
const colon = 58
const openBracket = 91
const backslash = 92
const closeBracket = 93
const openBrace = 123
const closeBrace = 125

const startsWith = (bytes: Uint8Array, at: number, expected: Uint8Array): boolean => {
  for (let index = 0; index < expected.length; index += 1) if (bytes[at + index] !== expected[index]) return false
  return true
}

/** The index of the last string `usage`; -1 where there is none. Within a longer string its quotes are escaped. */
const lastKey = (bytes: Uint8Array): number => {
  for (let at = bytes.length - key.length; at > field.length; at -= 1)
    if (bytes[at] === quote && bytes[at - 1] !== backslash && startsWith(bytes, at, key)) return at
  return -1
}

const isBlank = (byte: number | undefined): boolean => byte !== undefined && byte <= space

const skipBlanks = (bytes: Uint8Array, at: number, step: 1 | -1): number => {
  let next = at
  while (isBlank(bytes[next])) next += step
  return next
}

const isMember = (before: number | undefined, behind: number | undefined): boolean =>
  (before === comma || before === openBrace) && behind === colon

const stringEnd = (bytes: Uint8Array, at: number): number => {
  let end = at + 1
  while (end < bytes.length && bytes[end] !== quote) end += bytes[end] === backslash ? 2 : 1
  return end
}

/** Where a member's value ends; -1 for a nested member: only the outermost object's brace is the last byte. */
const valueEnd = (bytes: Uint8Array, from: number): number => {
  let depth = 0
  let end = -1
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === quote) at = stringEnd(bytes, at)
    else if (byte === comma) {
      if (depth === 0 && end < 0) end = at
    } else if (byte === openBrace || byte === openBracket) depth += 1
    else if (byte === closeBrace || byte === closeBracket) {
      if (depth === 0) return skipBlanks(bytes, at + 1, 1) < bytes.length ? -1 : end < 0 ? at : end
      depth -= 1
    }
  }
  return -1
}

/** The bytes before and after an event's member `usage`; null where it is not proved to be that member. */
export const withoutUsage = (event: Uint8Array): readonly [Uint8Array, Uint8Array] | null => {
  const start = lastKey(event)
  if (start < 0 || !startsWith(event, 0, field)) return null
  const before = skipBlanks(event, start - 1, -1)
  const behind = skipBlanks(event, start + key.length, 1)
  const end = isMember(event[before], event[behind]) ? valueEnd(event, behind + 1) : -1
  if (end < 0) return null
  if (event[end] === comma) return [event.subarray(0, start), event.subarray(end + 1)]
  return [event.subarray(0, event[before] === comma ? before : start), event.subarray(end)]
}
