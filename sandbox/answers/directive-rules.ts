import { Refusal } from './faults.ts'

export interface Rule<T> {
  readonly expects: string
  readonly read: (text: string) => T | undefined
}

export const integer = (least: number, most: number): Rule<number> => ({
  expects: `a whole number from ${least} to ${most}`,
  read: (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    return value >= least && value <= most ? value : undefined
  },
})

export const flag: Rule<boolean> = {
  expects: '1 or 0',
  read: (text) => (text === '' || text === '1' ? true : text === '0' ? false : undefined),
}

export const anyText: Rule<string> = { expects: 'some text', read: (text) => (text === '' ? undefined : text) }

export const headerText: Rule<string> = {
  expects: 'seconds or an HTTP date',
  read: (text) => (/^[\x20-\x7e]+$/.test(text) ? text : undefined),
}

export const oneOf = <T extends string>(...words: readonly T[]): Rule<T> => ({
  expects: words.join(' or '),
  read: (text) => words.find((word) => word === text),
})

type Rules = { readonly [name: string]: Rule<unknown> }
type ValueOf<R> = R extends Rule<infer T> ? T : never
export type ValuesOf<R extends Rules> = { readonly [N in keyof R]?: ValueOf<R[N]> }

export const malformed = (entry: string, problem: string): Refusal =>
  new Refusal(`Malformed sandbox directive ${JSON.stringify(entry)}: ${problem}.`, {
    code: 'invalid_value',
    param: 'model',
  })

const readEntry = (rules: Rules, entry: string): readonly [string, unknown] => {
  const at = entry.indexOf('=')
  const name = (at < 0 ? entry : entry.slice(0, at)).trim()
  const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
  if (rule === undefined) throw malformed(entry, 'there is no such directive')
  const value = rule.read(at < 0 ? '' : entry.slice(at + 1).trim())
  if (value === undefined) throw malformed(entry, `${name} takes ${rule.expects}`)
  return [name, value]
}

/** Reads `key=value` entries, separated by `;`. A flag needs no `=1`. Throws Refusal for anything malformed. */
export const readEntries = <R extends Rules>(rules: R, list: string): ValuesOf<R> => {
  const values = new Map<string, unknown>()
  for (const entry of list.split(';')) {
    if (entry.trim() === '') continue
    const [name, value] = readEntry(rules, entry)
    if (values.has(name)) throw malformed(entry, 'it is given twice')
    values.set(name, value)
  }
  return Object.fromEntries(values) as ValuesOf<R>
}
