import type { LogToFold } from '../audit/fold.ts'
import type { Config } from '../config.ts'
import { catchUp } from './catch-up.ts'
import { type BelievedArchive, openSealed } from './check-archive.ts'
import { believed, onServers, type Platform } from './platform.ts'
import { showing } from './progress.ts'
import type { Runtime } from './runtime.ts'

export interface SourceOptions extends BelievedArchive {
  /** Reads the whole log, and no tables. */
  readonly fromLog: boolean
  /** The folder of an archive that is read in the log's place. */
  readonly archive?: string
}

/** What a command that only reads is given, once the tables are at the end of the log, or a log to fold from its first frame. */
export interface Readers<T> {
  readonly tables: (platform: Platform) => Promise<T>
  readonly log: (log: LogToFold) => Promise<T>
}

/** Folds a source as far as it goes now, with a bar on the terminal where the work is named. */
export const folding = async <T>(
  what: string | null,
  source: Pick<Platform['log'], 'read' | 'lastSequence'>,
  work: (log: LogToFold) => Promise<T>,
): Promise<T> => {
  const to = await source.lastSequence()
  if (what === null) return work({ frames: source, to, speakers: believed })
  return showing(what, (progress) =>
    work({ frames: source, to, speakers: believed, onFrame: (sequence) => progress.update(sequence, to) }),
  )
}

/** Reads the tables, the log, or an archive, as the options say. */
export const readFrom = async <T>(
  what: string | null,
  config: () => Config,
  runtime: Runtime,
  options: SourceOptions,
  { tables, log }: Readers<T>,
): Promise<T> => {
  const { fromLog, archive } = options
  if (archive !== undefined)
    return folding(what, await openSealed(archive, config, options, 'nothing is told of it'), log)
  return onServers(config(), runtime, { readOnly: true }, async (platform) => {
    if (fromLog) return folding(what, platform.log, log)
    await catchUp(platform, runtime)
    return tables(platform)
  })
}
