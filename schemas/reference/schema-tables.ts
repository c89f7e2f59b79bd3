/** As far as the pages show it. */
export interface Schema {
  readonly title?: string
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly maximum?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema | readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly required?: readonly string[]
  readonly format?: string
}

export interface SchemaDocument extends Schema {
  readonly definitions?: Readonly<Record<string, Schema>>
}

/** The schema that a reference names. */
export type Resolve = (schema: Schema) => Schema

/** Placeholders become code, except within code. */
export const inCell = (text: string): string =>
  text
    .replaceAll('|', '\\|')
    .replaceAll(/\s*\n\s*/g, ' ')
    .replaceAll(/`[^`]*`|[^\s`"(]*<[a-z_=-]+>[^\s`,;")]*/g, (part) => (part.startsWith('`') ? part : `\`${part}\``))
    .replaceAll(/([.:])`(?=\s|$)/g, '`$1')

export const code = (value: unknown): string => `\`${String(value)}\``

export const row = (...cells: readonly string[]): string => `| ${cells.map(inCell).join(' | ')} |\n`

export const tableHead = (...names: readonly string[]): string =>
  `| ${names.join(' | ')} |\n|${names.map(() => '---|').join('')}\n`

export const resolveIn =
  (definitions: Readonly<Record<string, Schema>>): Resolve =>
  (schema) => {
    const name = schema.$ref?.split('/').at(-1)
    const found = name === undefined ? undefined : definitions[name]
    return found === undefined ? schema : { ...found, ...schema }
  }

const rangeOf = ({ minimum, exclusiveMinimum, maximum }: Schema): string => {
  if (exclusiveMinimum !== undefined && maximum !== undefined) return ` above ${exclusiveMinimum}, up to ${maximum}`
  if (exclusiveMinimum !== undefined) return ` above ${exclusiveMinimum}`
  const isBounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER
  if (isBounded) return minimum === undefined ? ` up to ${maximum}` : ` from ${minimum} to ${maximum}`
  return minimum === undefined ? '' : ` from ${minimum}`
}

const typeNames: Readonly<Record<string, string>> = { string: 'text', array: 'list', 'date-time': 'instant' }

export const typeOf = (given: Schema, resolve: Resolve): string => {
  const schema = resolve(given)
  if (schema.const !== undefined) return code(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(code).join(', ')
  const alternatives = schema.anyOf ?? schema.oneOf
  if (schema.type === undefined && alternatives !== undefined)
    return [...new Set(alternatives.map((each) => typeOf(each, resolve)))].filter((name) => name !== '').join(' or ')
  if (schema.type === 'array' && schema.items !== undefined && !Array.isArray(schema.items)) {
    const inner = typeOf(schema.items as Schema, resolve)
    return inner === '' ? 'list' : `list of ${inner}`
  }
  const types = [schema.type ?? []].flat()
  const names = types.map((name) => typeNames[(name === 'string' && schema.format) || name] ?? typeNames[name] ?? name)
  return names.join(' or ') + rangeOf(schema)
}

interface Member {
  readonly path: string
  readonly schema: Schema
  readonly required: boolean
}

/** Members of objects, of lists of objects, and of objects with free names, in the schema's order; `depth` levels of them. */
export const membersOf = (given: Schema, resolve: Resolve, depth: number, prefix = ''): readonly Member[] => {
  const schema = resolve(given)
  if (depth === 0) return []
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, member]) => [
    { path: prefix + name, schema: member, required: schema.required?.includes(name) ?? false },
    ...membersOf(member, resolve, depth - 1, `${prefix}${name}.`),
  ])
  const named =
    typeof schema.additionalProperties === 'object'
      ? membersOf(schema.additionalProperties, resolve, depth, `${prefix}<name>.`)
      : []
  const listed = [schema.items ?? []].flat()
  const inLists = listed.flatMap((each) => membersOf(each, resolve, depth, `${prefix.slice(0, -1)}[].`))
  const alternatives = (schema.anyOf ?? schema.oneOf ?? []).flatMap((each) => membersOf(each, resolve, depth, prefix))
  return [...own, ...named, ...inLists, ...alternatives]
}

/** Of a member that may be null: that of its value. */
export const descriptionOf = (given: Schema, resolve: Resolve): string => {
  const { description, anyOf = [] } = resolve(given)
  return description ?? anyOf.map((each) => resolve(each).description ?? '').find((text) => text !== '') ?? ''
}

export const memberRow = ({ path, schema, required }: Member, resolve: Resolve): string =>
  row(code(path), typeOf(schema, resolve), `${required ? 'Required. ' : ''}${descriptionOf(schema, resolve)}`.trim())
