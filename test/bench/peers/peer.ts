import type { Addressed } from '../requests.ts'

/** Where one peer runs, and what it may use. */
export interface Place {
  /** The folder in which it is installed. */
  readonly installed: string
  /** An empty folder of its own. */
  readonly folder: string
  /** A free port of the loopback interface. */
  readonly port: number
  /** `http://127.0.0.1:PORT/NAME` of the mock upstream, without `/v1`. */
  readonly upstreamUrl: string
  /** Of an empty, synced PostgreSQL of its own; empty for a peer without one. */
  readonly databaseUrl: string
}

export interface Command {
  readonly file: string
  readonly args: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

export interface Asked extends Pick<Addressed, 'key' | 'model'> {
  /** What is before `/v1`. */
  readonly prefix?: string
  readonly headers?: readonly string[]
}

/** Another gateway: how it is found, started, asked and audited. */
export interface Peer {
  readonly name: string
  /** Below the folder of all peers; it is installed where this exists. */
  readonly program: string
  readonly hasDatabase: boolean
  /** Writes its configuration into its folder. */
  configure(place: Place): Promise<Command>
  /** Answers with a status below 500 once it serves. */
  readonly readyPath: string
  /** How it is asked, once it serves. */
  asked(place: Place): Promise<Asked>
  /** A query of two columns: bills, and their sum in USD; null where it keeps none. */
  readonly billsQuery: string | null
  /** A query of one column: USD that the limit which admits requests has counted; null where none can be read. */
  readonly admittedQuery: string | null
}

/** USD of a million tokens, as `price.ts` has them. */
export const usdPerMillion = { input: 0.15, cachedInput: 0.075, output: 0.6 } as const
