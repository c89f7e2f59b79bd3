import { isNewVerdict } from '../../projections/tasks/late-verdicts.ts'
import type { SubjectKind } from '../../reconcile/invoices/row.ts'

/** $1: the provider, $2 and $3: the first and the last day, $4: the time zone of the days, in every query here. */
const start = `($2::date)::timestamp at time zone $4`
const end = `($3::date + 1)::timestamp at time zone $4`
const dayOf = (time: string): string => `((${time}) at time zone $4)::date`
const milliseconds = (parameter: string): string => `${parameter}::int8 * interval '1 millisecond'`

export const createInvoiceRows = `
  create temporary table invoice_rows (
    id text collate "C" not null,
    is_upstream_id boolean not null,
    place int8 not null,
    day date,
    model text,
    quantities json,
    amount numeric,
    rounding numeric not null
  ) on commit drop`

/** Ids of requests and tasks by the provider's own, of those that rows name. */
export const createUpstreamIds = `
  create temporary table upstream_ids (upstream_id text collate "C", request_id text collate "C") on commit drop`

/** PostgreSQL extracts nothing from JSON with U+0000, so attempts with any escape are left out. */
const attempts = String.raw`case when strpos(r.attempts::text, '\u') = 0 then r.attempts else '[]' end`

export const indexInvoiceRows = `create index on invoice_rows (id); analyze invoice_rows`

const invoicedRows = `
  select distinct on (id, is_upstream_id) id, is_upstream_id, place,
         count(*) over (partition by id, is_upstream_id) as rows, day, model, quantities,
         amount::numeric(50, 12) as amount, rounding::numeric(50, 12) as rounding
  from invoice_rows order by id, is_upstream_id, place`

/** $1: whether rows with the same figures are included. */
export const repeatedRows = `
  select r.id, r.place, first.place as first_place
  from (
    select id, is_upstream_id, min(place) as place from invoice_rows group by 1, 2 having count(*) > 1
  ) twice
  join invoice_rows first on first.id = twice.id and first.place = twice.place
  join invoice_rows r on r.id = twice.id and r.is_upstream_id = twice.is_upstream_id and r.place > twice.place
  where $1 or (r.quantities::text, r.amount) is distinct from (first.quantities::text, first.amount)
  order by r.place`

const invoicedColumns = `
  i.id, i.is_upstream_id, i.place, i.rows, i.day, i.model as invoiced_model, i.quantities, i.amount, i.rounding`

const noInvoicedColumns = `
  false as is_upstream_id,  null::int8 as place, null::int8 as rows, null::date as day, null::text as invoiced_model, null::json as quantities,
  null::numeric as amount, null::numeric as rounding`

/** What corrects a request or task, and what corrects that, however many steps away, in the order of the log. */
const adjustmentsOf = (workspaceId: string, id: string): string => `
  left join lateral (
    with recursive chain as (
      select e.sequence, e.event_index, e.reference, e.amount
      from charge_places p
      join wallet_entries e on e.workspace_id = p.workspace_id and e.sequence = p.sequence and e.event_index = p.event_index
        and e.kind = 'adjustment'
      where p.charge_id = ${id} and p.workspace_id = ${workspaceId}
      union
      select e.sequence, e.event_index, e.reference, e.amount
      from chain c
      join charge_places p on p.charge_id = c.reference collate "C" and p.workspace_id = ${workspaceId}
      join wallet_entries e on e.workspace_id = p.workspace_id and e.sequence = p.sequence and e.event_index = p.event_index
        and e.kind = 'adjustment'
    )
    select json_agg(json_build_array(c.sequence, c.amount::text, a.detail) order by c.sequence, c.event_index) as adjustments
    from chain c join admin_changes a on a.sequence = c.sequence and a.event_index = c.event_index
  ) c on true`

const bill = `u.workspace_id = r.workspace_id and u.sequence = r.sequence and u.event_index = r.event_index`

/** $5: days before and after the period. A task that has no end may have been invoiced too. */
export const findUpstreamIds = `
  insert into upstream_ids
  select t.vendor_task_id, t.task_id
  from tasks t
  where t.provider = $1
    and (t.finished_at is null or t.finished_at >= ${start} - $5::int4 * interval '1 day' and t.finished_at < ${end} + $5::int4 * interval '1 day')
    and exists (select from invoice_rows i where i.is_upstream_id and i.id = t.vendor_task_id)
  union
  select distinct attempt ->> 'upstreamRequestId', u.request_id
  from usage_entries u
  join requests r on r.request_id = u.request_id and ${bill}
  cross join lateral json_array_elements(${attempts}) attempt
  where u.provider = $1 and u.time >= ${start} - $5::int4 * interval '1 day' and u.time < ${end} + $5::int4 * interval '1 day'
    and attempt ->> 'outcome' = 'served'
    and exists (select from invoice_rows i where i.is_upstream_id and i.id = attempt ->> 'upstreamRequestId')`

export const ambiguousRows = `
  select i.place, i.id, s.requests
  from invoice_rows i
  join (select upstream_id, count(*) as requests from upstream_ids group by 1 having count(*) > 1) s on s.upstream_id = i.id
  where i.is_upstream_id order by i.place`

/** Analyzed again: by statistics from before, no row has the id of a request, and the next queries compare all with all. */
export const nameRequests = `
  update invoice_rows i set id = s.request_id, is_upstream_id = false
  from upstream_ids s where i.is_upstream_id and s.upstream_id = i.id;
  analyze invoice_rows`

const billColumns = `
  u.model, u.source, u.lines, u.total, null::text as unit_price, c.adjustments,
  ${dayOf('u.time')} as charged_day, ${dayOf('u.time')} between $2::date and $3::date as in_period`

/** $5: clock skew in ms. What began before the period or ended at its end may be in the adjacent invoice. */
const atEdge = (from: string, to: string): string =>
  `(${dayOf(`${from} - ${milliseconds('$5')}`)} < $2::date or ${dayOf(`${to} + ${milliseconds('$5')}`)} > $3::date)`

const invoicedRequests = `
  select ${invoicedColumns}, ${billColumns}, false as at_edge,
         coalesce(r.workspace_id, o.routed -> 'data' ->> 'workspaceId') as workspace_id,
         case when u.request_id is not null then 'charged' when r.request_id is not null then 'uncharged'
              when o.request_id is not null then 'open' end as state
  from (${invoicedRows}) i
  left join requests r on r.request_id = i.id and not i.is_upstream_id
  left join usage_entries u on ${bill} and u.provider = $1
  left join open_requests o on o.request_id = i.id and not i.is_upstream_id and o.routed is not null and r.request_id is null
  ${adjustmentsOf('r.workspace_id', 'i.id')}`

const missingRequests = `
  select u.request_id as id, ${noInvoicedColumns}, ${billColumns}, u.workspace_id, 'charged' as state,
         ${atEdge('r.routed_at', 'u.time')} as at_edge
  from usage_entries u
  join requests r on r.request_id = u.request_id
  ${adjustmentsOf('u.workspace_id', 'u.request_id')}
  where u.provider = $1 and u.time >= ${start} and u.time < ${end}
    and not exists (select from invoice_rows i where i.id = u.request_id and not i.is_upstream_id)`

const taskColumns = `
  t.model, t.source, t.lines, t.total, t.unit_price, c.adjustments, t.workspace_id,
  ${dayOf('t.finished_at')} as charged_day, ${dayOf('t.finished_at')} between $2::date and $3::date as in_period,
  case t.status when 'SUCCESS' then 'charged' when 'FAILURE' then 'uncharged' else 'open' end as state`

const invoicedTasks = `
  select ${invoicedColumns}, ${taskColumns}, false as at_edge
  from (${invoicedRows}) i
  left join tasks t on t.task_id = i.id and t.provider = $1 and not i.is_upstream_id
  ${adjustmentsOf('t.workspace_id', 'i.id')}`

const missingTasks = `
  select t.task_id as id, ${noInvoicedColumns}, ${taskColumns}, ${atEdge('t.queued_at', 't.finished_at')} as at_edge
  from tasks t
  ${adjustmentsOf('t.workspace_id', 't.task_id')}
  where t.provider = $1 and t.status = 'SUCCESS' and t.finished_at >= ${start} and t.finished_at < ${end}
    and not exists (select from invoice_rows i where i.id = t.task_id and not i.is_upstream_id)`

export const pairs: { readonly [K in SubjectKind]: { readonly invoiced: string; readonly missing: string } } = {
  request: { invoiced: invoicedRequests, missing: missingRequests },
  task: { invoiced: invoicedTasks, missing: missingTasks },
}

const lines = `json_to_recordset(u.lines) as line (item text, quantity numeric, amount numeric(38, 12))`
const taskLines = `json_to_recordset(t.lines) as line (item text, quantity numeric, amount numeric(38, 12))`
/** Units of video are decimals; returned in 1e-12. */
const units = `(sum(line.quantity) * 1000000000000)::numeric(50, 0)`
const counts = `sum(line.quantity)::numeric(50, 0)`
const amount = `sum(line.amount)::numeric(50, 12) as amount`

export const charges = `
  select ${dayOf('u.time')} as day, u.model, line.item, u.source, ${counts} as quantity, ${amount}
  from usage_entries u cross join lateral ${lines}
  where u.provider = $1 and u.time >= ${start} and u.time < ${end}
  group by 1, 2, 3, 4
  union all
  select ${dayOf('t.finished_at')}, t.model, line.item, t.source, ${units}, ${amount}
  from tasks t cross join lateral ${taskLines}
  where t.provider = $1 and t.status = 'SUCCESS' and t.finished_at >= ${start} and t.finished_at < ${end}
  group by 1, 2, 3, 4`

/** $5: clock skew in milliseconds; $6: for how many after midnight a request may end that began before. */
export const straddles = `
  select ${dayOf('u.time')} as day, 'early' as direction, u.model, line.item, ${counts} as quantity, ${amount}
  from usage_entries u
  join requests r on r.request_id = u.request_id
  cross join lateral ${lines}
  where u.provider = $1 and u.time >= ${start} and u.time < ${end} + ${milliseconds('$6')}
    and (u.time at time zone $4)::time < time '00:00' + ${milliseconds('$6')}
    and ${dayOf(`r.routed_at - ${milliseconds('$5')}`)} < ${dayOf('u.time')}
  group by 1, 2, 3, 4
  union all
  select ${dayOf('u.time')}, 'late', u.model, line.item, ${counts}, ${amount}
  from usage_entries u cross join lateral ${lines}
  where u.provider = $1 and u.time >= ${start} - ${milliseconds('$5')} and u.time < ${end}
    and ${dayOf(`u.time + ${milliseconds('$5')}`)} > ${dayOf('u.time')}
  group by 1, 2, 3, 4
  union all
  select ${dayOf('t.finished_at')}, 'early', t.model, line.item, ${units}, ${amount}
  from tasks t cross join lateral ${taskLines}
  where t.provider = $1 and t.status = 'SUCCESS' and ${dayOf('t.finished_at')} between $2::date and $3::date + 1
    and ${dayOf(`t.queued_at - ${milliseconds('$5')}`)} < ${dayOf('t.finished_at')}
  group by 1, 2, 3, 4`

export const corrections = `
  with corrected as (
    select distinct p.workspace_id, p.charge_id
    from wallet_entries e
    join charge_places p on p.workspace_id = e.workspace_id and p.sequence = e.sequence and p.event_index = e.event_index
    where e.kind = 'adjustment' and e.kind <> 'charge'
  )
  select ${dayOf('u.time')} as day, u.model, r.request_id as id, u.total, c.adjustments
  from corrected
  join requests r on r.request_id = corrected.charge_id and r.workspace_id = corrected.workspace_id
  join usage_entries u on ${bill}
  ${adjustmentsOf('r.workspace_id', 'r.request_id')}
  where u.provider = $1 and u.time >= ${start} and u.time < ${end}
  union all
  select ${dayOf('t.finished_at')}, t.model, t.task_id, t.total, c.adjustments
  from corrected
  join tasks t on t.task_id = corrected.charge_id and t.workspace_id = corrected.workspace_id
  ${adjustmentsOf('t.workspace_id', 't.task_id')}
  where t.provider = $1 and t.finished_at >= ${start} and t.finished_at < ${end}`

/** $1: the zone's name, in any case. */
export const zones = `select from pg_timezone_names where lower(name) = lower($1)`

/** $1: the time zone. */
export const openRequests = `
  select routed, ((routed ->> 'time')::timestamptz at time zone $1)::date as day
  from open_requests where routed is not null order by sequence, request_id`

/** $1: the instant before which a deadline is overdue. */
export const overdueHoldRows = `
  select hold_id, workspace_id, purpose, remaining, deadline
  from holds where deadline < $1::timestamptz order by deadline, workspace_id, hold_id`

export const lateVerdicts = `
  select v.task_id, v.workspace_id, v.vendor_task_id, v.outcome, v.cost, v.time
  from late_verdicts v
  join tasks t on t.task_id = v.task_id
  where t.provider = $1 and v.time >= ${start} and v.time < ${end} and ${isNewVerdict}
  order by v.sequence, v.event_index`

export const estimatedCharges = `
  select u.request_id as id, u.workspace_id, u.model, u.total, u.time
  from usage_entries u
  where u.provider = $1 and u.source = 'estimated' and u.time >= ${start} and u.time < ${end}
  union all
  select t.task_id, t.workspace_id, t.model, t.total, t.finished_at
  from tasks t
  where t.provider = $1 and t.source = 'estimated' and t.finished_at >= ${start} and t.finished_at < ${end}
  order by time, id`

export const secondClosings = `
  select o.closing, exists (select from requests r where r.request_id = o.request_id) as ended
  from open_requests o where o.closing is not null order by o.sequence, o.request_id`
