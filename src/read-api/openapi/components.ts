import { asText, isObject, type JsonObject } from '../../encoding/json.ts'

type ReadSchema = (id: string) => JsonObject

/** Members of a schema file that are of no use within a document. */
const ofFiles: ReadonlySet<string> = new Set(['$schema', '$id', 'definitions'])

const root = 'schema:///'
const definitionPointer = /^#\/definitions\/(\w+)$/

const targetOf = (reference: string, from: string): readonly [file: string, definition: string | undefined] => {
  const { pathname, hash } = new URL(reference, root + from)
  return [pathname.slice(1), definitionPointer.exec(hash)?.[1]]
}

/** Schema files as components: every definition becomes one of its own, named after its file's title. */
export class Components {
  readonly #read: ReadSchema
  readonly #titles = new Map<string, string>()
  readonly #schemas: Record<string, unknown> = {}

  constructor(read: ReadSchema) {
    this.#read = read
  }

  /** Only those that are referenced. */
  get schemas(): JsonObject {
    return this.#schemas
  }

  /** Rewrites references to point into the document. Those of `value` are relative to the file `from`. */
  resolved(value: unknown, from = ''): unknown {
    if (Array.isArray(value)) return value.map((each) => this.resolved(each, from))
    if (!isObject(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) =>
        name === '$ref' && typeof member === 'string'
          ? [name, this.#reference(member, from)]
          : [name, this.resolved(member, from)],
      ),
    )
  }

  #reference(reference: string, from: string): string {
    const [file, definition = ''] = targetOf(reference, from)
    return `#/components/schemas/${this.#titleOf(file)}${definition}`
  }

  #titleOf(file: string): string {
    const known = this.#titles.get(file)
    if (known !== undefined) return known
    const schema = this.#read(file)
    const title = asText(schema['title'])
    if (title === '') throw new Error(`the schema ${file} has no title`)
    this.#titles.set(file, title)
    const ownMembers = Object.entries(schema).filter(([name]) => !ofFiles.has(name))
    this.#add(title, Object.fromEntries(ownMembers), file)
    for (const [name, definition] of Object.entries(schema['definitions'] ?? {}))
      this.#add(title + name, definition, file)
    return title
  }

  #add(name: string, schema: unknown, file: string): void {
    if (Object.hasOwn(this.#schemas, name)) throw new Error(`two schemas are called ${name}`)
    this.#schemas[name] = null // Reserves the name, for circular references.
    this.#schemas[name] = this.resolved(schema, file)
  }
}
