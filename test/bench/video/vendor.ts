/** The sandbox's video vendor in a process of its own. */
import { v7 } from 'uuid'
import { startSandbox } from '../../../sandbox/server.ts'
import { answerQuestions, type ServerAddress } from '../child.ts'

/** How the tasks to come go, in directives; null to leave that as it is. */
export interface VendorQuestion {
  readonly directives: string | null
}

/** What the vendor itself has counted. */
export interface VendorCount {
  /** Tasks made. */
  readonly made: number
  readonly open: number
  readonly queries: number
  /** Of all that were made, in tenths of a unit. */
  readonly tenthsOfUnits: string
}

const sandbox = await startSandbox({ clock: Date.now, newId: () => v7() })

const tenthsOf = (units: string): bigint => {
  const [whole = '0', fraction = '0'] = units.split('.')
  return BigInt(whole) * 10n + BigInt(fraction)
}

const count = (): VendorCount => {
  const { made, open, queries } = sandbox.videos.totals()
  const tenths = sandbox.videos
    .all()
    .reduce((sum, { vendorTaskIds, units }) => sum + BigInt(vendorTaskIds.length) * tenthsOf(units ?? '0'), 0n)
  return { made, open, queries, tenthsOfUnits: String(tenths) }
}

answerQuestions(async ({ directives }: VendorQuestion) => {
  if (directives !== null) sandbox.videos.direct(directives)
  return count()
})
process.send!({ url: sandbox.url } satisfies ServerAddress)
