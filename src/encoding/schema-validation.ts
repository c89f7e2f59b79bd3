import { existsSync, readFileSync } from 'node:fs'
import { _, Ajv, type ErrorObject, type KeywordCxt, MissingRefError, str, type ValidateFunction } from 'ajv'
import charactersOf from 'ajv/dist/runtime/ucs2length.js'
import formats from 'ajv-formats'
import { isObject, type JsonObject } from './json.ts'

export interface SchemaProblem {
  readonly path: string
  readonly message: string
  /** The JSON Schema keyword that failed: `required`, `type`, `enum`, … */
  readonly keyword: string
}

interface ValidationOptions {
  /** For a file that a person edits. Without it the check ends at the first problem, which is fast. */
  readonly allErrors?: boolean
}

export type Validator = (value: unknown) => readonly SchemaProblem[]

const options = {
  ...{ strict: true, strictTypes: false, strictTuples: false, strictRequired: false },
  // The schemas are ours, and a test validates them against the meta-schema: no need to at start.
  ...{ meta: false, validateSchema: false },
  // V8 does as well without it, and it takes half of the time of a compilation.
  code: { optimize: false },
} as const
const compilers = { first: new Ajv(options), every: new Ajv({ ...options, allErrors: true }) } as const

/** As ajv's own, which counts the characters of every text: of an attachment of 1 MB for 1.7 ms. A long one fails before its pattern is matched. */
const boundLength = (compiler: Ajv, keyword: 'minLength' | 'maxLength', words: string): void => {
  const isMax = keyword === 'maxLength'
  const code = (context: KeywordCxt): void => {
    const { gen, data, schema } = context
    const count = gen.scopeValue('func', { ref: charactersOf.default })
    // A character is one or two units of a text's length.
    context.fail(
      isMax
        ? _`${data}.length > ${2 * schema} || (${data}.length > ${schema} && ${count}(${data}) > ${schema})`
        : _`${data}.length < ${2 * schema} && ${count}(${data}) < ${schema}`,
    )
  }
  const message = `must NOT have ${words} than`
  compiler.removeKeyword(keyword)
  compiler.addKeyword({
    ...{ keyword, type: 'string', schemaType: 'number', code },
    before: 'pattern', // An empty text is reported as that.
    error: { message: ({ schemaCode }) => str`${message} ${schemaCode} characters` },
  })
}

for (const compiler of Object.values(compilers)) {
  formats.default(compiler)
  boundLength(compiler, 'minLength', 'fewer')
  boundLength(compiler, 'maxLength', 'more')
}

const schemasUrl = new URL('../../schemas/', import.meta.url)
const noProblems: readonly SchemaProblem[] = Object.freeze([])
const composites: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'if', 'not'])

const memberOf = (error: ErrorObject): string => {
  const member = error.params['missingProperty'] ?? error.params['additionalProperty']
  return member === undefined ? '' : `/${String(member).replaceAll('~', '~0').replaceAll('/', '~1')}`
}

const segmentText = (segment: string): string => {
  const name = segment.replaceAll('~1', '/').replaceAll('~0', '~')
  return /^[0-9]+$/.test(name) ? `[${name}]` : `.${name}`
}

const pathOf = (error: ErrorObject): string =>
  `${error.instancePath}${memberOf(error)}`.split('/').slice(1).map(segmentText).join('').replace(/^\./, '')

const usdPattern = '(0|[1-9][0-9]{0,14})(\\.[0-9]{1,12})?$'

/** Of the schema in which a check failed; undefined where it is behind a reference. */
const patternBeside = ({ schemaPath }: ErrorObject, root: unknown): unknown =>
  [...schemaPath.split('/').slice(1, -1), 'pattern'].reduce(
    (schema, name) => (isObject(schema) ? schema[name] : undefined),
    root,
  )

/** Null where the failed check is not that of an amount. */
const amountMessage = (error: ErrorObject, root: unknown): string | null => {
  if (error.keyword !== 'type' && error.keyword !== 'pattern') return null
  const pattern = error.params['pattern'] ?? patternBeside(error, root)
  if (pattern === `^${usdPattern}`) return 'must be a decimal number in quotes, zero or more, such as "250.00"'
  return pattern === `^-?${usdPattern}` ? 'must be a decimal number in quotes, such as "250.00" or "-250.00"' : null
}

const messageOf = (error: ErrorObject, root: unknown): string => {
  const ofAmount = amountMessage(error, root)
  if (ofAmount !== null) return ofAmount
  switch (error.keyword) {
    case 'minLength':
      return error.message?.endsWith(' 1 characters') ? 'must not be empty' : `${error.message}`
    case 'required':
      return 'is required'
    case 'additionalProperties':
      return 'is not known'
    case 'enum':
      return `must be one of ${error.params['allowedValues'].map((value: unknown) => JSON.stringify(value)).join(', ')}`
    case 'const':
      return `must be ${JSON.stringify(error.params['allowedValue'])}`
    default:
      return error.message ?? `fails ${error.keyword}`
  }
}

const problemOf = (error: ErrorObject, root: unknown): SchemaProblem => ({
  path: pathOf(error),
  message: messageOf(error, root),
  keyword: error.keyword,
})

const depthOf = (error: ErrorObject): number => error.instancePath.split('/').length

/** The deepest comes first: of failed alternatives, the one that matched furthest is the one that was meant. */
const problemsOf = (errors: readonly ErrorObject[], root: unknown): readonly SchemaProblem[] => {
  const leaves = errors.filter((error) => !composites.has(error.keyword))
  return (leaves.length > 0 ? leaves : errors)
    .toSorted((a, b) => depthOf(b) - depthOf(a))
    .map((error) => problemOf(error, root))
}

export const readSchema = (schemaId: string): JsonObject =>
  JSON.parse(readFileSync(new URL(schemaId, schemasUrl), 'utf8'))

export const schemaExists = (schemaId: string): boolean => existsSync(new URL(schemaId, schemasUrl))

const compile = (schemaId: string, compiler: Ajv): ValidateFunction => {
  try {
    return compiler.getSchema(schemaId) ?? compiler.compile(readSchema(schemaId))
  } catch (fault) {
    if (!(fault instanceof MissingRefError)) throw fault
    compiler.addSchema(readSchema(fault.missingSchema))
    return compile(schemaId, compiler)
  }
}

const validators = { first: new Map<string, Validator>(), every: new Map<string, Validator>() } as const

/** Compiled at the first value: a process compiles only what it needs. `schemaId` is the path below `schemas/`. */
export const getValidator = (schemaId: string, { allErrors = false }: ValidationOptions = {}): Validator => {
  const kind = allErrors ? 'every' : 'first'
  const known = validators[kind].get(schemaId)
  if (known !== undefined) return known
  if (!schemaExists(schemaId)) throw new Error(`there is no schema ${schemaId}`)
  let validate: ValidateFunction | null = null
  const validator: Validator = (value) => {
    validate ??= compile(schemaId, compilers[kind])
    return validate(value) ? noProblems : problemsOf(validate.errors ?? [], validate.schema)
  }
  validators[kind].set(schemaId, validator)
  return validator
}

export const problemsText = (problems: readonly SchemaProblem[]): string =>
  problems.map(({ path, message }) => (path === '' ? message : `${path} ${message}`)).join('; ')
