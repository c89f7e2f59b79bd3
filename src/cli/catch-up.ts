import { assertSameLog, ForeignTables } from '../log/log-identity.ts'
import { projector } from '../roles/projector/role.ts'
import { sharedLimits } from '../runtime/limits.ts'
import { waitUntilSequence } from '../runtime/wait-until-sequence.ts'
import { withDatabaseErrors } from './database-errors.ts'
import { type Platform, requireTables } from './platform.ts'
import { CommandError } from './report.ts'
import type { Runtime } from './runtime.ts'

/** The log may have grown since its end was read, and the tables with it. */
const assertWithin = async ({ log }: Platform, at: number): Promise<void> => {
  const last = await log.lastSequence()
  if (at > last) throw new ForeignTables(`the tables are at sequence ${at}, but the log ends at ${last}`)
}

/** Brings the tables to the present end of the log: by the running projector, else in this process. */
export const catchUp = async (platform: Platform, runtime: Runtime): Promise<void> => {
  const { log } = platform
  const { database, place } = requireTables(platform)
  const last = await log.lastSequence()
  if (last === 0) throw new CommandError('the log is empty')
  const at = await withDatabaseErrors(
    place.url,
    // A checkpoint that has not moved for so long has no projector.
    waitUntilSequence(last, {
      read: () => database.checkpoint(),
      pausesMs: sharedLimits.projectionStandbyMs,
      whileMoving: true,
    }),
  )
  if (at > last) await assertWithin(platform, at)
  if (at >= last) return
  const position = await database.position()
  if (position !== null) await assertSameLog(log, position, new AbortController().signal)
  // `reached` rejects with a fatal fault too.
  const running = await projector.start({ log, store: database.projectionStore(), ...runtime, onFatal: () => {} })
  await running.waitForSequence(last).finally(() => running.stop())
}
