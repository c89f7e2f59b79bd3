import { readFileSync } from 'node:fs'
import { InvalidArgumentError, Option } from 'commander'
import type { CommandDescription, MemberDescription, MemberFile } from '../administration/operation.ts'
import { readPriceFile } from '../config/price-file.ts'
import { isProviderName } from '../domain/pricing/litellm.ts'
import { isObject, type JsonObject } from '../encoding/json.ts'
import { faultText } from '../errors/gateway-error.ts'
import { parseInstantOption, parseUsdOption } from './option-values.ts'
import { UsageError } from './report.ts'

const readJson = (file: string): unknown => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new UsageError(`${file} cannot be read: ${faultText(cause)}`, { cause })
  }
}

const readLiteLlmTable = (file: string): JsonObject => {
  const table = readJson(file)
  if (!isObject(table)) throw new UsageError(`${file} is no JSON object, as LiteLLM's table is`)
  if (Array.isArray(table['prices'])) return table
  if (!Object.values(table).some(isProviderName))
    throw new UsageError(
      `${file} holds no price: no member of it names its litellm_provider, as rows of LiteLLM's table do`,
    )
  return table
}

/** What a file has for a member of a body. Each throws UsageError or ConfigError. */
const bodyFiles: { readonly [F in MemberFile]: (file: string) => unknown } = {
  json: readJson,
  'litellm-table': readLiteLlmTable,
  'price-file': (file) => readPriceFile(file).prices,
}

const parseCount = (text: string): number => {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('a whole number')
  return Number(text)
}

interface ValueKind {
  readonly placeholder: string
  readonly parse: (text: string, before: unknown) => unknown
  /** Whether a value that the operation refuses is wrong whatever the log has. */
  readonly isOfForm: boolean
}

const usdPattern = '^(0|[1-9][0-9]{0,14})(\\.[0-9]{1,12})?$'
const usd: ValueKind = { placeholder: '<usd>', parse: parseUsdOption, isOfForm: true }
const parseSignedUsd = (text: string): string => {
  parseUsdOption(text.replace(/^-/, ''))
  return text
}
/** Which side is refused depends on the reason, and the most on what it corrects. */
const signedUsd: ValueKind = { placeholder: '<usd>', parse: parseSignedUsd, isOfForm: false }
const instant: ValueKind = {
  placeholder: '<instant>',
  parse: (text) => (/^\d+[smhd]$/.test(text) ? text : parseInstantOption(text).toISOString()),
  isOfForm: true,
}
const count: ValueKind = { placeholder: '<n>', parse: parseCount, isOfForm: true }
const words: ValueKind = { placeholder: '<text>', parse: (text) => text, isOfForm: false }

const flag: ValueKind = { placeholder: '', parse: (text) => text, isOfForm: true }

/** Of a list, each option adds an element; of an object, some members. */
const collecting = (parse: (text: string) => unknown, { type }: JsonObject): ValueKind => ({
  placeholder: '<text>',
  parse: (text, before) =>
    type === 'object'
      ? { ...(isObject(before) ? before : {}), ...Object(parse(text)) }
      : [...(Array.isArray(before) ? before : []), parse(text)],
  isOfForm: false,
})

const kindOf = (property: JsonObject, { parse, file }: MemberDescription): ValueKind => {
  if (file !== undefined) return { ...words, parse: bodyFiles[file] }
  if (parse !== undefined) return collecting(parse, property)
  const [alternative] = Array.isArray(property['anyOf']) ? property['anyOf'] : []
  const { type, pattern, format } = isObject(alternative) ? alternative : property
  if (pattern === usdPattern) return usd
  if (pattern === `^-?${usdPattern.slice(1)}`) return signedUsd
  if (format === 'date-time') return instant
  if (type === 'boolean') return flag
  return type === 'integer' ? count : words
}

export interface Member extends MemberDescription {
  /** Of a member of a member: `spend.day`. */
  readonly name: string
  readonly description: string
  readonly kind: ValueKind
  readonly choices: readonly string[]
}

/** What lifts a member, where a command changes what is set; commander takes null for no value. */
const lifted = Symbol('none')

const orNone = ({ placeholder, parse, isOfForm }: ValueKind): ValueKind => ({
  ...{ placeholder, isOfForm },
  parse: (text, before) => (text === 'none' ? lifted : parse(text, before)),
})

const choicesOf = ({ enum: values, const: only }: JsonObject): readonly string[] =>
  (Array.isArray(values) ? values : [only]).flatMap((value) => (typeof value === 'string' ? [value] : []))

export const schemaOf = (properties: JsonObject, name: string): JsonObject => {
  const schema = properties[name]
  return isObject(schema) ? schema : {}
}

/** The members of a body, or of a member of it, by their schema and the command. */
export const membersOf = (
  { properties, required }: JsonObject,
  cli: CommandDescription,
  prefix = '',
): readonly Member[] => {
  const schemas = isObject(properties) ? properties : {}
  return Object.keys(schemas).flatMap((own) => {
    const [name, property] = [prefix + own, schemaOf(schemas, own)]
    const described = cli.members?.[name]
    if (described === undefined && isObject(property['properties'])) return membersOf(property, cli, `${name}.`)
    return [described ?? {}].flat().map((each: MemberDescription) => {
      const kind = kindOf(property, each)
      return {
        ...{ name, description: String(property['description'] ?? ''), choices: choicesOf(property) },
        ...(Array.isArray(required) && required.includes(own) ? { required: true as const } : {}),
        ...each,
        kind: cli.current !== undefined && kind.isOfForm ? orNone(kind) : kind,
      }
    })
  })
}

const unitPattern = /_(?:at|seconds)$/

/** `credit_limit` as `--credit-limit <usd>`; a unit at the end is the placeholder: `grace_seconds` as `--grace <seconds>`. */
export const flagsOf = ({ name, kind, flags, choices }: Member): string => {
  if (flags !== undefined) return flags
  const word = choices.length > 0 ? `<${name}>` : kind.placeholder
  const placeholder = name.endsWith('_seconds') ? '<seconds>' : word
  return `--${name.replace(unitPattern, '').replaceAll(/[_.]/g, '-')} ${placeholder}`.trimEnd()
}

export const createOption = (member: Member): Option => {
  const { description, required = false, kind, choices } = member
  const option = new Option(flagsOf(member), description)
  if (member.value !== undefined) return option.preset(member.value ?? lifted)
  if (kind === flag) return option
  option.argParser(kind.parse)
  if (choices.length > 0) option.choices(choices)
  return member.default === undefined ? option.makeOptionMandatory(required) : option.default(member.default)
}

/** `spend.day` is a member of the object `spend`; one that an option lifts is null. */
export const setMember = (body: JsonObject, [name, named]: readonly [name: string, value: unknown]): JsonObject => {
  const [outer = '', inner] = name.split('.')
  const value = named === lifted ? null : named
  return { ...body, [outer]: inner === undefined ? value : { ...schemaOf(body, outer), [inner]: value } }
}
