import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { faultCode } from '../errors/gateway-error.ts'
import { writePrivateFile } from '../runtime/private-file.ts'
import type { ProcessIdentity } from './processes.ts'

export type ServerName = 'postgres' | 'nats'

export interface ServerRecord extends ProcessIdentity {
  readonly name: ServerName
  readonly port: number
}

export interface EmbeddedAddresses {
  /** With user and password. */
  readonly databaseUrl: string
  /** With user and password. */
  readonly natsUrl: string
  readonly natsMonitoringUrl: string
}

/** `embedded.json`: which process holds the data folder, and which servers it started. */
interface EmbeddedRecord {
  readonly owner: ProcessIdentity
  readonly servers: readonly ServerRecord[]
  /** Null until all servers answer. */
  readonly addresses: EmbeddedAddresses | null
}

const pathOf = (folder: string): string => join(folder, 'embedded.json')

export const readRecord = (folder: string): EmbeddedRecord | null => {
  try {
    return JSON.parse(readFileSync(pathOf(folder), 'utf8')) as EmbeddedRecord
  } catch (error) {
    if (faultCode(error) === 'ENOENT') return null
    throw new Error(`cannot read ${pathOf(folder)}`, { cause: error })
  }
}

/** Synchronous: a server is recorded before the program does anything else. */
export const writeRecord = (folder: string, record: EmbeddedRecord): void =>
  writePrivateFile(pathOf(folder), `${JSON.stringify(record, null, 2)}\n`)

export const removeRecord = (folder: string): void => rmSync(pathOf(folder), { force: true })
