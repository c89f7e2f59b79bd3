import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { applyFrame, initialLedger, type Ledger, type LedgerFrame } from '../../../src/domain/ledger/ledger.ts'
import { encodeLedger, LedgerDecoder, SnapshotFault, snapshotFormat } from '../../../src/domain/ledger/snapshot.ts'
import { histories, logOf } from '../../roles/projector/history.ts'
import { ledgerOf } from '../../roles/projector/projecting.ts'
import { propertyRuns } from '../../support/property-runs.ts'

const decode = (lines: Iterable<string>): Ledger => {
  const decoder = new LedgerDecoder()
  for (const line of lines) decoder.take(line)
  return decoder.finish()
}

t.test('a ledger that was read back goes on as the one that was folded from the first frame', async () => {
  fc.assert(
    fc.property(histories, fc.nat(), (history, cut) => {
      const log = logOf(history)
      const sequence = cut % (log.frames.length + 1)
      const folded = ledgerOf(log, sequence)
      const lines = [...encodeLedger(folded)]
      const restored = decode(lines)
      assert.deepEqual(restored, folded)
      assert.deepEqual([...encodeLedger(restored)], lines)
      for (const frame of log.frames.slice(sequence)) applyFrame(restored, frame)
      assert.deepEqual(restored, ledgerOf(log))
      assert.deepEqual([...encodeLedger(restored)], [...encodeLedger(ledgerOf(log))])
    }),
    propertyRuns(60),
  )
})

/** Frames as they were when the format was made: every kind of record follows from them. */
const recorded = readFileSync(new URL('recorded-frames.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as LedgerFrame)

const foldRecorded = (): Ledger => {
  const ledger = initialLedger()
  for (const frame of recorded) applyFrame(ledger, frame)
  return ledger
}

t.test('the lines of a format never change', async (t) => {
  const lines = [...encodeLedger(foldRecorded())]
  const kinds = new Set(lines.slice(1).map((line) => JSON.parse(line)[0]))
  t.same([...kinds], Object.keys(JSON.parse(lines[0]!).counts), 'every kind of record is in the example')
  t.same(
    { format: snapshotFormat, sha256: createHash('sha256').update(lines.join('\n')).digest('hex') },
    { format: 11, sha256: '72053b9424cc08c5fd4c99fb500d1dfb115c1256d2d5e01fa6767bd1d0de526d' },
    'what changes the lines raises snapshotFormat, and only then this hash',
  )
})

t.test('lines that are missing, of another format or of an unknown kind are refused', async (t) => {
  const [header = '', ...records] = encodeLedger(foldRecorded())
  t.throws(() => decode([]), new SnapshotFault('it is empty'))
  t.throws(() => decode([header, ...records.slice(1)]), SnapshotFault)
  t.throws(
    () => decode([header.replace('"format":11', '"format":12')]),
    new SnapshotFault('it has format 12, this program reads 11'),
  )
  t.throws(() => decode([header, '["thing",["a"],1]']), SnapshotFault)
})
