-- What administration says: when keys end, aliases and routers over the configuration's, and who changed what.
-- Up Migration

alter table keys add column expires_at timestamptz;
alter table keys add column replaces text collate "C";

-- Null: the configuration's word again.
create table aliases (
  alias text collate "C" primary key,
  model text
);

create table routers (
  router text collate "C" primary key,
  candidates json,
  candidate_order text not null
);

-- What was said before this migration comes with a rebuild.
create table admin_changes (
  sequence int8 not null,
  event_index int4 not null,
  type text collate "C" not null,
  -- Null for what belongs to no workspace.
  workspace_id text collate "C",
  subject text not null,
  actor text,
  detail json not null,
  time timestamptz not null,
  primary key (sequence, event_index)
);

create index admin_changes_of_a_workspace on admin_changes (workspace_id, sequence, event_index);
create index admin_changes_of_a_type on admin_changes (type, sequence, event_index);
