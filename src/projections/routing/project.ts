import type { AliasSet, RouterSet } from '../../events/types.ts'
import { defineReadModel } from '../schema/read-model.ts'
import { storedOrNull, storedText } from '../schema/stored-text.ts'
import type { RowOf } from '../schema/tables.ts'
import { routingTables } from './table.ts'

const aliasRow = ({ alias, model }: AliasSet): RowOf<'aliases'> => ({
  alias: storedText(alias),
  model: storedOrNull(model),
})

const routerRow = ({ router, candidates, order }: RouterSet): RowOf<'routers'> => ({
  router,
  candidates: JSON.stringify(candidates),
  candidate_order: order,
})

export const routingReadModel = defineReadModel({
  name: 'routing',
  version: 1,
  tables: routingTables,
  startBatch: () => {
    const aliases = new Map<string, RowOf<'aliases'>>()
    const routers = new Map<string, RowOf<'routers'>>()
    return {
      addEvent: ({ event }) => {
        if (event.type === 'AliasSet') aliases.set(event.data.alias, aliasRow(event.data))
        if (event.type === 'RouterSet') routers.set(event.data.router, routerRow(event.data))
      },
      finish: () => ({ written: { aliases: [...aliases.values()], routers: [...routers.values()] } }),
    }
  },
})
