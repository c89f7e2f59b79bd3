import { int4, text } from './schema/columns.ts'
import type { ReadModel } from './schema/read-model.ts'
import { defineTables, type ReadModels, type TablesOf } from './schema/tables.ts'

const versionTables = defineTables({
  read_models: { key: ['name'], write: 'replace', columns: { name: text(), version: int4() } },
})

declare module './schema/tables.ts' {
  interface Tables extends TablesOf<typeof versionTables> {}
}

/** By the name of a read model: with which version of it the rows of its tables were made. */
export type ModelVersions = ReadonlyMap<string, number>

export const versionsOf = (models: readonly ReadModel[]): ModelVersions =>
  new Map(models.map(({ name, version }) => [name, version]))

export const selectVersions = async (db: ReadModels): Promise<ModelVersions> => {
  const rows = await db.selectFrom('read_models').selectAll().orderBy('name').execute()
  return new Map(rows.map(({ name, version }) => [name, version]))
}

/** Those that this program makes with a higher version, or for the first time. */
export const findBehind = (stored: ModelVersions, models: readonly ReadModel[]): readonly ReadModel[] =>
  models.filter(({ name, version }) => (stored.get(name) ?? 0) < version)

/** The names of those that a newer program made: this one must not write them. */
export const findAhead = (stored: ModelVersions, models: readonly ReadModel[]): readonly string[] => {
  const own = versionsOf(models)
  return [...stored].flatMap(([name, version]) => (version > (own.get(name) ?? 0) ? [name] : []))
}
