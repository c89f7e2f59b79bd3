-- Charges as they are listed: those of video tasks by their place in the log, and those of one key without a look at the others.
-- Up Migration

-- Written once, when a task succeeds; what it cost stands in its own row.
create table task_charges (
  workspace_id text collate "C" not null,
  -- Where the event stands that settled it.
  sequence int8 not null,
  event_index int4 not null,
  task_id text collate "C" not null,
  key_id text collate "C" not null,
  surface text not null,
  model text not null,
  primary key (workspace_id, sequence, event_index)
);

-- A task's hold ends once, where the task is settled.
insert into task_charges (workspace_id, sequence, event_index, task_id, key_id, surface, model)
select t.workspace_id, w.sequence, w.event_index, t.task_id, t.key_id, t.surface, t.model
from tasks t
join wallet_entries w
  on w.workspace_id = t.workspace_id and w.reference = t.task_id and w.kind = 'release' and w.kind <> 'charge'
where t.status = 'SUCCESS';

-- What charges are filtered by beside the key is in the index: a key with many of them is looked through without their rows.
create index usage_entries_by_key on usage_entries (workspace_id, key_id, sequence, event_index) include (surface, model);
create index task_charges_by_key on task_charges (workspace_id, key_id, sequence, event_index) include (surface, model);
