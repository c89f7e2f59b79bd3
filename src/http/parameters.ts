import { parseDay, parseInstant, parseRangeEnd } from '../domain/instant.ts'
import { sharedLimits } from '../runtime/limits.ts'
import { invalidParameter, type Parameter } from './query.ts'

export const matchingParameter = (pattern: RegExp, form: string): Parameter<string> => ({
  read: (text) => (pattern.test(text) ? text : undefined),
  form,
  schema: { type: 'string', pattern: pattern.source },
})

export const dayParameter: Parameter<string> = {
  read: (text) => parseDay(text) ?? undefined,
  form: 'a day in UTC such as 2026-03-01',
  schema: { type: 'string', format: 'date' },
}

export const instantParameter: Parameter<Date> = {
  read: (text) => parseInstant(text) ?? undefined,
  form: 'an instant such as 2026-03-01T12:00:00Z, or a day in UTC such as 2026-03-01',
  schema: {
    anyOf: [
      { type: 'string', format: 'date-time' },
      { type: 'string', format: 'date' },
    ],
  },
}

/** The first instant after the range. */
export const rangeEndParameter: Parameter<Date> = {
  ...instantParameter,
  read: (text) => parseRangeEnd(text) ?? undefined,
  form: 'a day in UTC such as 2026-03-31, which is the last one in it, or an instant such as 2026-03-01T12:00:00Z, which is no longer in it',
}

export const lastDayParameter: Parameter<string> = { ...dayParameter, form: `${dayParameter.form}, which is in it` }

export const limitParameter: Parameter<number> = {
  read: (text) => {
    const value = /^[0-9]{1,4}$/.test(text) ? Number(text) : 0
    return value >= 1 && value <= sharedLimits.pageRowsMax ? value : undefined
  },
  form: `a whole number from 1 to ${sharedLimits.pageRowsMax}`,
  schema: { type: 'integer', minimum: 1, maximum: sharedLimits.pageRowsMax },
}

export const modelParameter = matchingParameter(/^\S{1,256}$/, 'a model as it was billed, such as openai/gpt-4o-mini')
export const keyParameter = matchingParameter(/^[A-Za-z0-9_:-]{1,64}$/, "a key's id")

export const oneOfParameter = <Word extends string>(words: readonly Word[]): Parameter<Word> => ({
  read: (text) => words.find((word) => word === text),
  form: `one of ${words.join(', ')}`,
  schema: { enum: words },
})

/** The surfaces on which requests are charged. */
export const surfaceParameter = oneOfParameter([
  'chat',
  'messages',
  'responses',
  'gemini',
  'embeddings',
  'video',
  'native-video',
])

export const someOfParameter = <Word extends string>(words: readonly Word[]): Parameter<readonly Word[]> => ({
  read: (text) => {
    const given = text.split(',')
    const known = given.flatMap((each) => words.find((word) => word === each) ?? [])
    return known.length === given.length && new Set(known).size === known.length ? known : undefined
  },
  form: `one or more of ${words.join(', ')}, each once, with commas between them`,
  schema: { type: 'string', pattern: `^(?:${words.join('|')})(?:,(?:${words.join('|')}))*$` },
})

const tagForm = 'a tag and its value, such as team=search'
const tagPattern = /^([a-z][a-z0-9_-]{0,63})=([^\p{Cc}\p{Surrogate}]{1,64})$/u

export const tagParameter: Parameter<{ readonly name: string; readonly value: string }> = {
  read: (text) => {
    const [, name, value] = tagPattern.exec(text) ?? []
    return name === undefined || value === undefined ? undefined : { name, value }
  },
  form: tagForm,
  schema: { type: 'string', minLength: 3 },
}

export const endUserParameter = matchingParameter(/^[0-9a-f]{64}$/, 'the `end_user` of a charge')
/** As clients name an end user. */
export const userParameter: Parameter<string> = {
  read: (text) => (text === '' ? undefined : text),
  form: 'the name of an end user, as requests have it',
  schema: { type: 'string', minLength: 1 },
}

export const checkDays = (from: string | undefined, to: string | undefined): void => {
  if (from !== undefined && to !== undefined && from > to) throw invalidParameter('to', 'the day of `from` or after it')
}

export const checkRange = (from: Date | undefined, end: Date | undefined): void => {
  if (from !== undefined && end !== undefined && from >= end) throw invalidParameter('to', 'after `from`')
}
