import cliProgress from 'cli-progress'
import type { Config } from '../config.ts'
import { openPlatform, tablesOf } from './platform.ts'
import { type ReplayReport, replay } from './replay.ts'
import { exitCodes, type Output, printRecords } from './report.ts'
import type { Runtime } from './runtime.ts'

const progressBar = (): cliProgress.SingleBar =>
  new cliProgress.SingleBar(
    {
      format: 'replay [{bar}] {percentage} % | frame {value} of {total} | {eta_formatted} left',
      stream: process.stderr,
      clearOnComplete: true,
    },
    cliProgress.Presets.legacy,
  )

const printReport = (
  { comparisons, sequence, equal, swapped }: ReplayReport,
  lastSequence: number,
  output: Output,
): void => {
  printRecords(
    comparisons.map(({ table, rows, differences }) => ({ table, rows, differences, at_sequence: sequence })),
    output,
  )
  for (const { table, shown } of comparisons)
    for (const { live, rebuilt } of shown)
      console.error(`${table}\n  live:    ${live ?? '(no row)'}\n  rebuilt: ${rebuilt ?? '(no row)'}`)
  console.error(`compared at frame ${sequence}, where the live tables stand; the log ends at ${lastSequence}`)
  console.error(equal ? 'the rebuilt tables equal the live ones' : 'the rebuilt tables differ from the live ones')
  if (swapped) console.error('the rebuilt tables are in their place now')
}

/** Exit code 0 when the rebuilt tables equal the live ones, else 1. */
export const replayCommand = async (
  config: Config,
  runtime: Runtime,
  options: Output & { readonly swap: boolean },
): Promise<number> => {
  const onFatal = (fault: Error): void => {
    throw fault
  }
  const platform = await openPlatform(config, runtime, { role: 'operator', embedded: 'any', onFatal })
  const bar = progressBar()
  try {
    bar.start(1, 0)
    const report = await replay({
      log: platform.log,
      place: tablesOf(platform).place,
      swap: options.swap,
      onProgress: (progress) => {
        if (progress.step !== 'projected') return
        bar.setTotal(progress.toSequence)
        bar.update(progress.sequence)
      },
    })
    bar.stop()
    printReport(report, await platform.log.lastSequence(), options)
    return report.equal ? exitCodes.done : exitCodes.failed
  } finally {
    bar.stop()
    await platform.stop()
  }
}
