import type { IntegrityFinding } from '../audit/findings.ts'
import { type OutputOptions, printRecords } from './report.ts'

export const printFindings = (findings: readonly IntegrityFinding[], total: number, output: OutputOptions): void => {
  if (output.json)
    printRecords(
      findings.map(({ kind, sequence, toSequence, text }) => ({
        finding: kind,
        sequence,
        to_sequence: toSequence,
        text,
      })),
      output,
    )
  else for (const { kind, text } of findings) console.log(`${kind}: ${text}`)
  if (total > findings.length) console.error(`… and ${total - findings.length} more`)
}
