import type pg from 'pg'
import { parseSignedHead, type SignedHead, type SignedHeadStore, signedHeadText } from '../../audit/signed-head.ts'
import { nullIfMissing, onConnection } from './connection.ts'

/** Beside the schema of the read models, which is dropped and rebuilt. */
const auditSchema = (schema: string): string => `${schema}_audit`

/** Several processes may make it at once. Who may use the schema need not be allowed to make one. */
const makeTable = (table: string, schema: string): string => `
do $$ begin
  perform pg_advisory_xact_lock(hashtext('${table}'));
  if to_regnamespace('${schema}') is null then create schema ${schema}; end if;
  create table if not exists ${table} (
    single boolean primary key default true check (single),
    origin text not null,
    size int8 not null check (size >= 0),
    head json not null,
    written_at timestamptz not null default now()
  );
end $$`

/** One row: a log has one database. `schema` is that of the read models. */
export const openHeadTable = (pool: pg.Pool, schema: string): SignedHeadStore => {
  const folder = auditSchema(schema)
  const table = `${folder}.signed_head`
  const place = `the table ${table}`

  const select = async (client: Pick<pg.Pool, 'query'>): Promise<SignedHead | null> => {
    const { rows } = await client.query<{ head: string }>(`select head::text from ${table}`)
    return rows[0] === undefined ? null : parseSignedHead(rows[0].head, place)
  }
  const write = (head: SignedHead, condition: string): Promise<SignedHead> =>
    onConnection(pool, async (client) => {
      await client.query('begin; set local synchronous_commit = on')
      await client.query(
        `insert into ${table} as held (origin, size, head) values ($1, $2, $3)
        on conflict (single) do update
        set origin = excluded.origin, size = excluded.size, head = excluded.head, written_at = now()
        where ${condition}`,
        [head.origin, head.size, signedHeadText(head)],
      )
      const held = await select(client)
      await client.query('commit')
      return held ?? head
    })
  const writeInto = async (head: SignedHead, condition: string): Promise<SignedHead> => {
    const held = await nullIfMissing(write(head, condition))
    if (held !== null) return held
    await pool.query(makeTable(table, folder))
    return write(head, condition)
  }
  return {
    place,
    read: () => nullIfMissing(select(pool)),
    advance: (head) => writeInto(head, 'held.origin = excluded.origin and held.size < excluded.size'),
    replace: async (head) => {
      await writeInto(head, 'true')
    },
  }
}
