/**
 * How fast the tables follow the log, how far they are behind it at a pace, and how fast they are rebuilt, in a process of its own: on a log and a database made for it,
 * on the gateway's servers.
 */

import pg from 'pg'
import { defaultSchema } from '../../src/adapters/postgres/connection.ts'
import { openDatabase } from '../../src/adapters/postgres/database.ts'
import { rebuildReadModels } from '../../src/cli/replay.ts'
import type { Addresses } from '../../src/embedded/embedded.ts'
import type { EventLog } from '../../src/log/event-log.ts'
import { projector } from '../../src/roles/projector/role.ts'
import { silentLogger } from '../support/log-lines.ts'
import { answerQuestions } from './child.ts'
import { type Lag, measureLag, type Pace } from './lag.ts'
import { openBenchLog, throwFatal } from './open-log.ts'
import { appendTraffic } from './traffic.ts'

export interface ProjectionQuestion {
  readonly addresses: Addresses
  readonly events: number
  readonly pace: Pace
}

export interface ProjectionRates {
  readonly events: number
  readonly appendedPerSecond: number
  readonly projectedPerSecond: number
  readonly lag: Lag
  /** Indexes and statistics included, the comparison with the live tables not. */
  readonly rebuiltPerSecond: number
  /** Whether the rebuilt tables are those that the projector made. */
  readonly equal: boolean
}

const logName = 'BENCH_TRAFFIC'
const databaseName = 'bench'

/** A database beside the gateway's own; answers with its URL. */
const createDatabase = async ({ databaseUrl }: Addresses): Promise<string> => {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(`create database ${databaseName}`)
  await client.end()
  return Object.assign(new URL(databaseUrl), { pathname: databaseName }).href
}

const secondsSince = (fromMs: number): number => (performance.now() - fromMs) / 1_000

/** Seconds from no tables to the end of the log, and the lag once that is reached. */
const project = async (
  log: EventLog,
  databaseUrl: string,
  pace: Pace,
): Promise<{ readonly seconds: number; readonly lag: Lag }> => {
  const database = openDatabase(databaseUrl)
  const fromMs = performance.now()
  const running = await projector.start({
    log,
    store: database.projectionStore(),
    logger: silentLogger,
    onFatal: throwFatal,
  })
  await running.waitForSequence(await log.lastSequence())
  const seconds = secondsSince(fromMs)
  const lag = await measureLag(log, () => database.projectionStore().checkpoint(), pace)
  await running.stop()
  await database.close()
  return { seconds, lag }
}

/** Seconds until the rebuilt tables were ready to be compared, which begins with the checkpoint's one row. */
const rebuild = async (log: EventLog, url: string): Promise<{ readonly seconds: number; readonly equal: boolean }> => {
  const fromMs = performance.now()
  let seconds = 0
  const { equal } = await rebuildReadModels({
    log,
    place: { url, schema: defaultSchema },
    swap: false,
    onProgress: ({ step }) => {
      if (step === 'compared' && seconds === 0) seconds = secondsSince(fromMs)
    },
  })
  return { seconds, equal }
}

const measure = async ({ addresses, events: asked, pace }: ProjectionQuestion): Promise<ProjectionRates> => {
  const databaseUrl = await createDatabase(addresses)
  const { log, close } = await openBenchLog(addresses, logName)
  const fromMs = performance.now()
  const events = await appendTraffic(log, asked)
  const appendedPerSecond = events / secondsSince(fromMs)
  const projected = await project(log, databaseUrl, pace)
  const all = events + projected.lag.events
  const { seconds, equal } = await rebuild(log, databaseUrl)
  await close()
  return {
    events,
    appendedPerSecond,
    projectedPerSecond: events / projected.seconds,
    lag: projected.lag,
    rebuiltPerSecond: all / seconds,
    equal,
  }
}

answerQuestions(measure)
