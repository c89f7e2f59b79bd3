import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { answeredModel } from '../content.ts'
import type { Command, Peer, Place } from './peer.ts'

const key = 'bench'.padEnd(48, '0')
const quota = 2_000_000_000 // Of the units below: $4,000.
const unitsOfUsd = 500_000
const tablesWithinMs = 60_000

/** It prices this model by itself as `price.ts` does. Above 90 % of the CPU its guard would refuse. */
const setUp = (upstreamUrl: string): string => `
  insert into setups (version, initialized_at) values ('bench', 1);
  insert into users (id, username, password, display_name, role, status, quota, "group", aff_code)
    values (1, 'bench', 'none', 'bench', 1, 1, ${quota}, 'default', 'bench');
  insert into tokens (user_id, key, status, name, expired_time, remain_quota, unlimited_quota, "group")
    values (1, '${key}', 1, 'bench', -1, ${quota}, false, '');
  insert into channels (id, type, key, status, name, base_url, models, "group", weight, priority, auto_ban, channel_info)
    values (1, 1, 'sk-bench', 1, 'bench', '${upstreamUrl}', '${answeredModel}', 'default', 0, 0, 0, '{}');
  insert into abilities ("group", model, channel_id, enabled, priority, weight)
    values ('default', '${answeredModel}', 1, true, 0, 0);
  insert into options (key, value) values ('performance_setting.monitor_enabled', 'false');`

/** The first start makes its tables; what it is to know is written before the second. */
const prepareDatabase = async ({ file, args, environment }: Command, { folder, upstreamUrl, databaseUrl }: Place) => {
  const env = { PATH: process.env['PATH'], HOME: folder, ...environment }
  const child = spawn(file, args, { cwd: folder, stdio: 'ignore', env })
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const untilMs = performance.now() + tablesWithinMs
    while (
      !(await fetch(`http://127.0.0.1:${environment!['PORT']}/api/status`).then(
        ({ ok }) => ok,
        () => false,
      ))
    ) {
      if (child.exitCode !== null || performance.now() > untilMs) throw new Error('newapi makes no tables')
      await delay(100)
    }
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    await client.query(setUp(upstreamUrl))
  } finally {
    child.kill('SIGKILL')
    await client.end()
  }
}

/** It gathers charges for some seconds before it writes them: without that each request writes several rows. */
export const newapi: Peer = {
  name: 'newapi',
  program: 'newapi/new-api',
  hasDatabase: true,
  configure: async (place) => {
    const command = {
      file: join(place.installed, 'new-api'),
      args: [],
      environment: {
        PORT: String(place.port),
        SQL_DSN: `${place.databaseUrl}?sslmode=disable`,
        MEMORY_CACHE_ENABLED: 'true',
        BATCH_UPDATE_ENABLED: 'true',
        GIN_MODE: 'release',
      },
    }
    await prepareDatabase(command, place)
    return command
  },
  readyPath: '/api/status',
  asked: async () => ({ key: `sk-${key}`, model: answeredModel }),
  billsQuery: `select count(*) as bills, sum(quota) / ${unitsOfUsd}::numeric as usd from logs where type = 2`,
  admittedQuery: `select sum(used_quota) / ${unitsOfUsd}::numeric as usd from tokens`,
}
