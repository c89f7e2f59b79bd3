/** What the audit is measured against: one SHA-256 over the frames' bytes, and a bare COPY of the largest tables' rows. */
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { defaultSchema } from '../../../src/adapters/postgres/connection.ts'
import type { RawFrames } from '../../../src/log/raw-frames.ts'

const tables = ['requests', 'usage_entries', 'charge_places'] as const

const secondsSince = (fromMs: number): number => (performance.now() - fromMs) / 1_000

export interface HashPass {
  readonly seconds: number
  readonly bytes: number
}

async function* bytesOf(log: RawFrames): AsyncGenerator<Uint8Array> {
  for await (const frames of log.read(1, await log.lastSequence())) for (const { data } of frames) yield data
}

export const measureHash = async (log: RawFrames, folder: string): Promise<HashPass> => {
  const file = join(folder, 'frames')
  await pipeline(Readable.from(bytesOf(log)), createWriteStream(file))
  const hash = createHash('sha256')
  const fromMs = performance.now()
  let bytes = 0
  for await (const chunk of createReadStream(file)) {
    bytes += chunk.length
    hash.update(chunk)
  }
  hash.digest()
  return { seconds: secondsSince(fromMs), bytes }
}

const copyTable = async (client: pg.Client, table: string, folder: string): Promise<number> => {
  const file = join(folder, `${table}.copy`)
  await pipeline(client.query(copyTo(`copy ${defaultSchema}.${table} to stdout`)), createWriteStream(file))
  await client.query(`create unlogged table bare_${table} (like ${defaultSchema}.${table})`)
  const fromMs = performance.now()
  await pipeline(createReadStream(file), client.query(copyFrom(`copy bare_${table} from stdin`)))
  const seconds = secondsSince(fromMs)
  await client.query(`drop table bare_${table}`)
  return seconds
}

/** Seconds for the rows of all of them, into tables without an index. */
export const measureCopy = async (databaseUrl: string, folder: string): Promise<number> => {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  let seconds = 0
  for (const table of tables) seconds += await copyTable(client, table, folder)
  await client.end()
  return seconds
}
