import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { applyFrame } from '../../../src/domain/ledger/ledger.ts'
import { loadLedger } from '../../../src/projections/load-ledger.ts'
import { startPostgres } from '../../support/postgres.ts'
import { propertyRuns } from '../../support/property-runs.ts'
import { histories, logOf } from './history.ts'
import { ledgerOf, openProjected, type Projected, project } from './projecting.ts'

const postgres = await startPostgres(t)

const newProjected = (): Promise<Projected> => openProjected(t, postgres)

t.test('any batch size makes the same tables of a log', async () => {
  const sizes = [1, 7, 500, Number.POSITIVE_INFINITY]
  const projected = await Promise.all(sizes.map(newProjected))
  await fc.assert(
    fc.asyncProperty(histories, async (history) => {
      const log = logOf(history)
      const texts = await Promise.all(
        projected.map(async (each, place) => {
          await each.empty()
          await project(log, each.store, sizes[place]!)
          return each.texts()
        }),
      )
      for (const other of texts.slice(1)) assert.deepEqual(other, texts[0])
    }),
    propertyRuns(8),
  )
})

t.test(
  'the tables at any frame hold the ledger of that frame, and following from there gives what replaying gives',
  async () => {
    const projected = await newProjected()
    await fc.assert(
      fc.asyncProperty(histories, fc.nat(), async (history, cut) => {
        const log = logOf(history)
        const sequence = cut % (log.frames.length + 1)
        await projected.empty()
        await project(log, projected.store, 7, sequence)
        const { ledger } = await loadLedger(projected.database.db)
        assert.deepEqual(ledger, ledgerOf(log, sequence))
        for (const frame of log.frames.slice(sequence)) applyFrame(ledger, frame)
        assert.deepEqual(ledger, ledgerOf(log))
        await project(log, projected.store, 7)
        const { ledger: last } = await loadLedger(projected.database.db)
        assert.deepEqual(last, ledger)
      }),
      propertyRuns(15),
    )
  },
)
