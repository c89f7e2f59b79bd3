-- What workspaces and keys may do.
-- Up Migration

create table limits (
  workspace_id text collate "C" not null,
  -- Empty for the limits of the workspace.
  key_id text collate "C" not null,
  limits json not null,
  primary key (workspace_id, key_id)
);

-- A hold that one key may spend counts for that key, and for a day in UTC.
alter table holds add column key_id text collate "C";
alter table holds add column day text collate "C";

update holds
set key_id = t.key_id, day = to_char(t.queued_at at time zone 'UTC', 'YYYY-MM-DD')
from tasks t
where t.task_id = holds.hold_id and t.workspace_id = holds.workspace_id;

-- What each key spent and holds in its last day, in the month of that, and ever.
create table key_spending (
  workspace_id text collate "C" not null,
  key_id text collate "C" not null,
  day text collate "C" not null,
  spent_day numeric(38, 12) not null,
  spent_month numeric(38, 12) not null,
  spent_total numeric(38, 12) not null,
  held_day numeric(38, 12) not null,
  held_month numeric(38, 12) not null,
  held_total numeric(38, 12) not null,
  primary key (workspace_id, key_id)
) with (fillfactor = 50);

insert into key_spending
with counted as (
  select workspace_id, key_id, to_char(routed_at at time zone 'UTC', 'YYYY-MM-DD') as day, total as spent, 0 as held
  from requests
  where status = 'ok'
  union all
  select workspace_id, key_id, to_char(queued_at at time zone 'UTC', 'YYYY-MM-DD'), total,
         case when finished_at is null then held else 0 end
  from tasks
), latest as (
  select workspace_id, key_id, max(day collate "C") as last_day from counted group by workspace_id, key_id
)
select workspace_id, key_id, last_day,
       sum(spent) filter (where day = last_day),
       sum(spent) filter (where left(day, 7) = left(last_day, 7)),
       sum(spent),
       sum(held) filter (where day = last_day),
       sum(held) filter (where left(day, 7) = left(last_day, 7)),
       sum(held)
from counted
join latest using (workspace_id, key_id)
group by workspace_id, key_id, last_day;
