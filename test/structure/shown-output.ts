/** What differs from run to run. */
const varying: Readonly<Record<string, RegExp>> = {
  id: /\b(?:[a-z]+_)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\breq_[0-9a-f]{32}\b/g,
  instant: /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g,
  epoch: /\b1[789]\d{8}\b/g,
  digest: /\b(?:[0-9a-f]{64}|[0-9a-f]{16})\b/g,
  duration: /\b\d+ ms\b/g,
}

const normalise = (text: string): string =>
  Object.entries(varying)
    .reduce((made, [name, pattern]) => made.replaceAll(pattern, `<${name}>`), text)
    .replaceAll(/ +/g, ' ')
    .replaceAll(/ +$/gm, '')

/** `…` is anything; what is shown is the end of what was printed. */
const isEndOf = (shown: string, printed: string): boolean => {
  let rest = `\n${normalise(printed).trimEnd()}`
  const parts = `\n${normalise(shown).trimEnd()}`.split('…').reverse()
  return parts.every((part, place) => {
    const start = rest.lastIndexOf(part)
    const isFound = start >= 0 && (place > 0 || start + part.length === rest.length)
    rest = rest.slice(0, Math.max(0, start))
    return isFound
  })
}

/** Where members are left out, only those that are shown. */
const isShapeOf = (shown: unknown, printed: unknown, isShortened: boolean): boolean => {
  if (typeof shown !== 'object' || shown === null || typeof printed !== 'object' || printed === null)
    return normalise(JSON.stringify(shown)) === normalise(JSON.stringify(printed))
  const values = new Map(Object.entries(printed))
  const members = Object.entries(shown)
  return (
    (isShortened && !Array.isArray(shown) ? members.length <= values.size : members.length === values.size) &&
    members.every(([name, value]) => values.has(name) && isShapeOf(value, values.get(name), isShortened))
  )
}

export interface ShownOutput {
  readonly language: 'json' | 'text'
  readonly body: string
  /** Members of it were left out, as its page says. */
  readonly isShortened: boolean
}

/** Whether a page shows what its commands printed: JSON as the last line, text as the last lines. */
export const isShownAsPrinted = ({ language, body, isShortened }: ShownOutput, printed: string): boolean => {
  if (language === 'text') return isEndOf(body, printed)
  return isShapeOf(JSON.parse(body), JSON.parse(printed.trimEnd().split('\n').at(-1) ?? ''), isShortened)
}
