import { isDeepStrictEqual } from 'node:util'
import type { Verifier } from '../../src/audit/note.ts'
import { decideVerdict, verifyLog } from '../../src/audit/verify.ts'
import { verifySnapshots } from '../../src/audit/verify-snapshots.ts'
import type { Ledger } from '../../src/domain/ledger/ledger.ts'
import { encodeLedger, LedgerDecoder } from '../../src/domain/ledger/snapshot.ts'
import { openSimLog, openSimSnapshots, openSimTail } from './open-log.ts'
import type { Start } from './start.ts'

const linesOf = (ledger: Ledger): readonly string[] => [...encodeLedger(ledger)]

const firstDifference = (one: readonly string[], other: readonly string[]): string => {
  const at = one.findIndex((line, index) => line !== other[index])
  return `${one[at]?.slice(0, 300)} and ${other[at]?.slice(0, 300)}`
}

/** Reads the log as an auditor does, once all has drained: seals, snapshots, and the ledger that a start makes of them. */
export const audit = async (
  start: Start,
  verifiers: readonly Verifier[],
  folded: Ledger,
  violate: (text: string) => void,
): Promise<void> => {
  const log = await openSimLog(start, 'operator')
  const verification = await verifyLog({ source: log, verifiers, readClock: async () => start.runtime.clock() })
  if (decideVerdict(verification) === 'tampered')
    violate(`the log does not verify: ${JSON.stringify(verification.findings)}`)
  const store = await openSimSnapshots(start, 'operator')
  const { findings } = await verifySnapshots(store, verification.snapshots)
  for (const { text } of findings) violate(`snapshot: ${text}`)
  const tail = await openSimTail(start, log, 'operator')
  while (tail.ledger.sequence < folded.sequence) await tail.waitForSequence(folded.sequence)
  const lines = linesOf(folded)
  const restored = linesOf(tail.ledger)
  if (!isDeepStrictEqual(restored, lines))
    violate(`the fold and the newest snapshot with what follows differ: ${firstDifference(lines, restored)}`)
  const decoder = new LedgerDecoder()
  for (const line of lines) decoder.take(line)
  const decoded = linesOf(decoder.finish())
  if (!isDeepStrictEqual(decoded, lines)) violate(`a snapshot loses something: ${firstDifference(lines, decoded)}`)
}
