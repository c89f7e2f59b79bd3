import type { Command } from 'commander'
import { collectEvidence } from '../audit/collect-evidence.ts'
import type { Evidence } from '../audit/evidence.ts'
import { explainCharge } from '../audit/explain-charge.ts'
import type { Explanation } from '../audit/explanation.ts'
import { readEvidence } from '../audit/read-evidence.ts'
import type { ConfigOf } from './audit-command.ts'
import { explanationText } from './explanation-text.ts'
import { type Platform, requireTables } from './platform.ts'
import { publicKeyOption } from './public-keys.ts'
import { foldWithProgress, readFromSource, type SourceOptions } from './read-source.ts'
import { CommandError, exitCodes, type OutputOptions } from './report.ts'
import { createRuntime } from './runtime.ts'

const noSuchCharge = (id: string, sequence: number): CommandError =>
  new CommandError(`no request and no task has the id ${id} in the log, which was followed to frame ${sequence}`)

const evidenceByTables = async (platform: Platform, id: string): Promise<Evidence> => {
  const tables = requireTables(platform).database.readModels()
  const { sequence, value: trace } = await tables.findTrace(id)
  if (trace === undefined) throw noSuchCharge(id, sequence)
  if (trace.isWhole) return readEvidence(platform.log, tables, id, { trace, sequence })
  console.error('the tables are of an earlier release, so the whole log is read; `gateway replay --swap` renews them')
  return foldWithProgress('explain', platform.log, (log) => collectEvidence(log, id))
}

const print = (explanation: Explanation, { json }: OutputOptions, nowMs: number): void =>
  console.log(json ? JSON.stringify(explanation) : explanationText(explanation, nowMs))

/** `gateway explain`: exit code 1 for an unknown id, and for a charge that differs when it is computed again. */
export const registerExplain = (program: Command, configOf: ConfigOf): void => {
  program
    .command('explain <id>')
    .description('the events of one charge in the log, by the id of its request or task')
    .option('--from-log', 'read the whole log; no database is needed', false)
    .option('--archive <folder>', "read an archive in the log's place; no servers are needed")
    .addOption(publicKeyOption('archive'))
    .option('--json', 'one JSON object a line', false)
    .action(async (id: string, options: SourceOptions, command: Command) => {
      const runtime = createRuntime('warn')
      const evidence = await readFromSource('explain', () => configOf(command), runtime, options, {
        tables: (platform) => evidenceByTables(platform, id),
        log: (log) => collectEvidence(log, id),
      })
      const explanation = explainCharge(evidence)
      if (explanation === null) throw noSuchCharge(id, evidence.sequence)
      print(explanation, options, runtime.clock())
      if (explanation.charge?.recomputed.equal === false) process.exitCode = exitCodes.failed
    })
}
