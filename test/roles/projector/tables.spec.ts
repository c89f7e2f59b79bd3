import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { startPostgres } from '../../support/postgres.ts'
import { propertyRuns } from '../../support/property-runs.ts'
import { histories, logOf } from './history.ts'
import { openProjected, type Projected, project } from './projecting.ts'

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
    propertyRuns(4),
  )
})

t.test('a projector that goes on from a frame in between makes the same tables', async () => {
  const [whole, parted] = await Promise.all([newProjected(), newProjected()])
  await fc.assert(
    fc.asyncProperty(histories, fc.nat(), async (history, cut) => {
      const log = logOf(history)
      for (const { projected, to } of [
        { projected: whole, to: 0 },
        { projected: parted, to: cut % (log.frames.length + 1) },
      ]) {
        await projected.empty()
        await project(log, projected.store, 7, to)
        await project(log, projected.store, 7)
      }
      assert.deepEqual(await parted.texts(), await whole.texts())
    }),
    propertyRuns(7),
  )
})
