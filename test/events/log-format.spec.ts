import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import type { EventType, Fact } from '../../src/events/envelope.ts'
import { fitToFormat } from '../../src/events/log-format.ts'

interface Schema {
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly oneOf?: readonly Schema[]
  readonly definitions?: Readonly<Record<string, Schema>>
}

const folder = new URL('../../schemas/events/', import.meta.url)
const readJson = (url: URL) => JSON.parse(readFileSync(url, 'utf8'))

/** The schemas' members as release 0.1.0 had them, which refuses all others. It is never changed. */
const format1: Readonly<Record<string, readonly string[]>> = readJson(new URL('format-1.json', import.meta.url))

const listMembers = (schema: Schema, definitions: Schema['definitions'], prefix = ''): readonly string[] => {
  if (schema.$ref !== undefined)
    return listMembers(definitions?.[schema.$ref.replace('#/definitions/', '')] ?? {}, definitions, prefix)
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, member]) => [
    prefix + name,
    ...listMembers(member, definitions, `${prefix}${name}.`),
  ])
  const inner = [schema.items ?? {}, ...(schema.oneOf ?? [])]
  return [
    ...own,
    ...inner.flatMap((each) =>
      each === schema ? [] : Object.keys(each).length === 0 ? [] : listMembers(each, definitions, prefix),
    ),
  ]
}

const fact = (type: string, data: object): Fact => ({ type: type as EventType, data }) as unknown as Fact

t.test('what release 0.1.0 cannot read is not written to a log of format 1', async (t) => {
  for (const file of readdirSync(folder)) {
    const type = file.split('.')[0]!
    const known = format1[file]
    const schema: Schema = readJson(new URL(file, folder))
    if (type === 'LogFormatRaised') continue
    if (known === undefined) t.same(fitToFormat(fact(type, {}), 1), { unwritable: type })
    else
      for (const member of listMembers(schema, schema.definitions).filter((each) => !known.includes(each))) {
        const added = fact(type, { [member]: 'x' })
        t.not(fitToFormat(added, 1), added, `${type}.${member} is in introducedIn`)
        t.equal(fitToFormat(added, 2), added)
      }
  }
})
