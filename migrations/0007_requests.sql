-- What was asked and how it ended; a request is written once, when both its sides are in the log.
-- Up Migration

create table requests (
  request_id text collate "C" primary key,
  sequence int8 not null,
  event_index int4 not null,
  workspace_id text collate "C" not null,
  key_id text collate "C" not null,
  surface text not null,
  model text not null,
  router text,
  stream boolean not null,
  status text not null,
  error_status int4,
  error_reason text,
  served_model text,
  level int8,
  attempts json not null,
  reserved numeric(38, 12) not null,
  total numeric(38, 12) not null,
  routed_at timestamptz not null,
  closed_at timestamptz not null
);

create index requests_by_workspace on requests (workspace_id, sequence, event_index);

-- Requests of which one side is in the log and the other is not yet.
create table open_requests (
  request_id text collate "C" primary key,
  sequence int8 not null,
  routed json,
  closing json,
  check ((routed is null) <> (closing is null))
);
