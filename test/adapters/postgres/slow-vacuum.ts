import type { Pool } from 'pg'
import { until } from '../../support/clients.ts'

const bounds = [125, 250, 500, 1000, 2000, 4000, 8000, 16000, 32000, 64000, 'above']
const columns = ['requests', 'failed', ...bounds.map((bound) => `first_token_${bound}`)]

/** Fills `outcomes_by_hour`, and resolves when an autovacuum of it has begun, which takes minutes. */
export const vacuumSlowly = async (pool: Pool): Promise<void> => {
  await pool.query(
    `insert into outcomes_by_hour (hour, workspace_id, model, key_id, ${columns.join()})
     select now(), n, 'model', 'key', ${columns.map(() => 1).join()} from generate_series(1, 20000) n`,
  )
  await pool.query(
    `alter table outcomes_by_hour set (autovacuum_vacuum_insert_threshold = 1, autovacuum_vacuum_insert_scale_factor = 0,
       autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1)`,
  )
  await pool.query("alter system set autovacuum_naptime = '1s'")
  await pool.query('select pg_reload_conf()')
  const underWay = `select from pg_stat_progress_vacuum where relid = 'outcomes_by_hour'::regclass`
  await until(async () => (await pool.query(underWay)).rowCount === 1)
}
