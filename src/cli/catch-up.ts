import { setTimeout as delay } from 'node:timers/promises'
import { ForeignTables } from '../log/log-identity.ts'
import { projector } from '../roles/projector/role.ts'
import { sharedLimits } from '../runtime/limits.ts'
import { type Platform, requireTables, withDatabaseErrors } from './platform.ts'
import { CommandError } from './report.ts'
import type { Runtime } from './runtime.ts'

/** Gives up when the checkpoint has not moved for so long that no projector can be running. */
const awaitProjector = async (checkpoint: () => Promise<number>, sequence: number): Promise<number> => {
  let at = await checkpoint()
  let movedMs = performance.now()
  while (at < sequence && performance.now() - movedMs < sharedLimits.projectionStandbyMs) {
    await delay(sharedLimits.tablesPollMs)
    const before = at
    at = await checkpoint()
    if (at > before) movedMs = performance.now()
  }
  return at
}

/** The log may have grown since its end was read, and the tables with it. */
const assertWithin = async ({ log }: Platform, at: number): Promise<void> => {
  const last = await log.lastSequence()
  if (at > last) throw new ForeignTables(`the tables stand at sequence ${at}, but the log ends at ${last}`)
}

/** Brings the tables to the present end of the log: by the running projector, else in this process. */
export const catchUp = async (platform: Platform, runtime: Runtime): Promise<void> => {
  const { log } = platform
  const { database, place } = requireTables(platform)
  const last = await log.lastSequence()
  if (last === 0) throw new CommandError('the log is empty')
  const at = await withDatabaseErrors(
    place.url,
    awaitProjector(() => database.checkpoint(), last),
  )
  if (at > last) await assertWithin(platform, at)
  if (at >= last) return
  // `reached` rejects with a fatal fault too.
  const running = await projector.start({ log, store: database.projectionStore(), ...runtime, onFatal: () => {} })
  await running.reached(last).finally(() => running.stop())
}
