import { type RawBuilder, sql } from 'kysely'

export const isCorrected = (workspaceId: string, id: string): RawBuilder<boolean> =>
  sql<boolean>`exists (
    select from charge_places p
    join wallet_entries e on e.workspace_id = p.workspace_id and e.sequence = p.sequence and e.event_index = p.event_index
    where e.kind = 'adjustment' and p.charge_id = ${sql.ref(id)} and p.workspace_id = ${sql.ref(workspaceId)}
  )`
