import type { PlanPublished } from '../../events/types.ts'
import { boolean, instant, int2, json, text } from '../schema/columns.ts'
import { defineTables, type TablesOf } from '../schema/tables.ts'

export const planTables = defineTables({
  plans: {
    key: ['plan_id'],
    write: 'replace',
    columns: {
      plan_id: text(),
      /** The latest published version. */
      published: json<PlanPublished>(),
    },
  },
  subscriptions: {
    key: ['workspace_id'],
    write: 'replace',
    columns: {
      workspace_id: text(),
      subscription_id: text(),
      terms: json<PlanPublished>(),
      starts_at: instant(),
      expires_at: instant(),
      anchor_day: int2(),
      renews: boolean(),
    },
  },
})

declare module '../schema/tables.ts' {
  interface Tables extends TablesOf<typeof planTables> {}
}
