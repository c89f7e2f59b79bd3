import type { FoldSource } from '../audit/fold-log.ts'
import type { Config } from '../config/config.ts'
import { catchUp } from './catch-up.ts'
import { openVerifiedArchive, type VerifiedArchiveOptions } from './check-archive.ts'
import { type Platform, permittedEventTypes, withPlatform } from './platform.ts'
import { withProgress } from './progress.ts'
import type { Runtime } from './runtime.ts'

export interface SourceOptions extends VerifiedArchiveOptions {
  readonly fromLog: boolean
  readonly archive?: string
}

/** A read-only command reads the tables, once they are at the end of the log, or folds the log from its first frame. */
interface SourceReaders<T> {
  readonly tables: (platform: Platform) => Promise<T>
  readonly log: (log: FoldSource) => Promise<T>
}

/** Folds a source to its present end; shows progress where `what` is given. */
export const foldWithProgress = async <T>(
  what: string | null,
  source: Pick<Platform['log'], 'read' | 'lastSequence'>,
  work: (log: FoldSource) => Promise<T>,
): Promise<T> => {
  const to = await source.lastSequence()
  const folded = { frames: source, to, permittedTypes: permittedEventTypes }
  if (what === null) return work(folded)
  return withProgress(what, (onProgress) => work({ ...folded, onFrame: (sequence) => onProgress(sequence, to) }))
}

export const readFromSource = async <T>(
  what: string | null,
  config: () => Config,
  runtime: Runtime,
  options: SourceOptions,
  { tables, log }: SourceReaders<T>,
): Promise<T> => {
  const { fromLog, archive } = options
  if (archive !== undefined)
    return foldWithProgress(what, await openVerifiedArchive(archive, config, options, 'nothing is reported of it'), log)
  return withPlatform(config(), runtime, { readOnly: true }, async (platform) => {
    if (fromLog) return foldWithProgress(what, platform.log, log)
    await catchUp(platform, runtime)
    return tables(platform)
  })
}
