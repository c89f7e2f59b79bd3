import { parseMonth } from '../../domain/instant.ts'
import { someOfParameter } from '../../http/parameters.ts'
import type { Parameter } from '../../http/query.ts'
import { administrativeTypes } from '../../projections/admin-changes/queries.ts'

const workspacePattern = /^[a-z0-9][a-z0-9-]{0,62}$/
const actorCharactersMax = 200

export const workspaceParameter: Parameter<string> = {
  read: (text) => (workspacePattern.test(text) ? text : undefined),
  form: "a workspace's id",
  schema: { type: 'string', pattern: workspacePattern.source },
}

export const typesParameter = someOfParameter(administrativeTypes)

export const actorParameter: Parameter<string> = {
  read: (text) => (text !== '' && text.length <= actorCharactersMax ? text : undefined),
  form: 'who asked, such as admin:ana',
  schema: { type: 'string', minLength: 1, maxLength: actorCharactersMax },
}

export const sequenceParameter: Parameter<number> = {
  read: (text) => (/^[0-9]{1,15}$/.test(text) ? Number(text) : undefined),
  form: 'a sequence of the log',
  schema: { type: 'integer', minimum: 0 },
}

export const monthParameter = (fallback: string): Parameter<string> => ({
  read: (text) => (parseMonth(text) === null ? undefined : text),
  form: `a month in UTC such as 2026-11 (default: ${fallback})`,
  schema: { type: 'string', pattern: '^\\d{4}-\\d{2}$', examples: ['2026-11'] },
})
