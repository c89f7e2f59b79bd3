import { dayMs, hourMs } from '../domain/instant.ts'
import { canRead, type HttpMiddleware } from '../http/context.ts'
import * as parameters from '../http/parameters.ts'
import { invalidParameter, readQuery } from '../http/query.ts'
import type { selectOutcomes } from '../projections/requests/outcomes.ts'
import { firstTokenFigures } from '../projections/requests/table.ts'
import type { Clock } from '../runtime/clock.ts'
import { readLimits } from './limits.ts'
import type { EdgeReadModels } from './read-models.ts'
import { readTables } from './read-tables.ts'
import type { LedgerOutcomesResponse } from './responses.types.ts'

export const outcomesParameters = {
  from: parameters.instantParameter,
  to: parameters.rangeEndParameter,
  model: parameters.modelParameter,
  key: parameters.keyParameter,
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0)

const figuresOf = (hours: Awaited<ReturnType<typeof selectOutcomes>>) => ({
  requests: sum(hours.map(({ requests }) => requests)),
  failed: sum(hours.map(({ failed }) => failed)),
  interrupted: sum(hours.map(({ interrupted }) => interrupted)),
  first_token: firstTokenFigures(
    (hours[0]?.firstTokens ?? []).map((_, place) => sum(hours.map(({ firstTokens }) => firstTokens[place]!))),
  ),
})

/** By whole hours, and for all of them; without a range the last 24 and the present one. */
export const showOutcomes =
  ({ readModels, clock }: { readonly readModels: EdgeReadModels; readonly clock: Clock }): HttpMiddleware =>
  async (ctx) => {
    const { from: since, to: end, model, key } = readQuery(ctx, outcomesParameters)
    const toMs = Math.ceil((end?.getTime() ?? clock()) / hourMs) * hourMs
    const fromMs = Math.floor((since?.getTime() ?? toMs - hourMs - dayMs) / hourMs) * hourMs
    if (fromMs >= toMs || toMs - fromMs > readLimits.outcomesDaysMax * dayMs)
      throw invalidParameter('to', `after \`from\`, by ${readLimits.outcomesDaysMax} days at most`)
    const [from, to] = [new Date(fromMs), new Date(toMs)]
    const hours = await readTables(ctx, readModels.listOutcomes(canRead(ctx), { from, to, model, key }))
    ctx.body = {
      object: 'outcomes',
      from: from.toISOString(),
      to: to.toISOString(),
      ...figuresOf(hours),
      hours: hours.map((hour) => ({ hour: hour.hour.toISOString(), ...figuresOf([hour]) })),
    } satisfies LedgerOutcomesResponse
  }
