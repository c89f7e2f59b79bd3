-- How many requests were refused before they were routed, by minute, key and code.
-- Up Migration

create table refusals_by_minute (
  minute timestamptz not null,
  workspace_id text collate "C" not null,
  key_id text collate "C" not null,
  code text collate "C" not null,
  count numeric not null,
  primary key (minute, workspace_id, key_id, code)
);

create index refusals_by_workspace on refusals_by_minute (workspace_id, minute, key_id, code);
