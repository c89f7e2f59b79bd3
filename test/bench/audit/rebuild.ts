/** The rebuild alone, without the comparison, in a process of its own: on a log that stands, or on an archive of it. */

import { ArchiveSource } from '../../../src/adapters/archive/archive-source.ts'
import { defaultSchema } from '../../../src/adapters/postgres/connection.ts'
import { rebuildReadModels } from '../../../src/cli/replay.ts'
import type { Addresses } from '../../../src/embedded/embedded.ts'
import { ArchiveThenLog, followSource } from '../../../src/log/source-log.ts'
import { answerQuestions } from '../child.ts'
import { openBenchLog } from '../open-log.ts'
import { peakMemoryBytes } from '../procfs.ts'

export interface RebuildQuestion {
  readonly addresses: Addresses
  readonly archive: string | null
}

export interface Rebuilt {
  /** Indexes and statistics included, the comparison with the live tables not. */
  readonly seconds: number
  readonly peakBytes: number | null
  readonly equal: boolean
}

const measure = async ({ addresses, archive }: RebuildQuestion): Promise<Rebuilt> => {
  const { log, close } = await openBenchLog(addresses, 'GATEWAY')
  const source = archive === null ? log : followSource(new ArchiveThenLog(await ArchiveSource.open(archive), log))
  const fromMs = performance.now()
  let seconds = 0
  const { equal } = await rebuildReadModels({
    log: source,
    place: { url: addresses.databaseUrl, schema: defaultSchema },
    swap: false,
    onProgress: ({ step }) => {
      if (step === 'compared' && seconds === 0) seconds = (performance.now() - fromMs) / 1_000
    },
  })
  await close()
  return { seconds, peakBytes: peakMemoryBytes(process.pid), equal }
}

answerQuestions(measure)
