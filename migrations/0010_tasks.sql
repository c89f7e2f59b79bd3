-- Video tasks as they stand, what names them, and what the vendor said of one that had ended.
-- Up Migration

create table tasks (
  task_id text collate "C" primary key,
  workspace_id text collate "C" not null,
  key_id text collate "C" not null,
  surface text not null,
  kind text collate "C" not null,
  model text not null,
  provider text not null,
  upstream_model text not null,
  price_version text not null,
  -- Decimals as the events wrote them, to the letter, as is the vendor's own figure below.
  unit_price text not null,
  units_max text not null,
  held numeric(38, 12) not null,
  external_task_id text,
  request_digest text not null,
  payload_digest text not null,
  vendor_task_id text,
  status text not null,
  progress int2 not null,
  queued_at timestamptz not null,
  deadline timestamptz not null,
  submitted_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  updated_at timestamptz not null,
  fail_reason text,
  -- Whatever whole number the vendor says.
  vendor_code numeric,
  deduction text,
  source text,
  lines json not null,
  total numeric(38, 12) not null,
  results json not null
) with (fillfactor = 50);

create index tasks_by_workspace on tasks (workspace_id, kind, queued_at desc, task_id desc);

-- What a ledger begins with.
create index tasks_open on tasks (task_id) where finished_at is null;

-- The task that a caller's own id names, and what it asked for: the last that the log tells, as the wallet has it.
create table external_tasks (
  workspace_id text collate "C" not null,
  external_task_id text collate "C" not null,
  task_id text collate "C" not null,
  request_digest text not null,
  primary key (workspace_id, external_task_id)
) with (fillfactor = 50);

-- The vendor's word on a task whose hold had ended, whichever event told it: charged to nobody.
create table late_verdicts (
  sequence int8 not null,
  event_index int4 not null,
  event_type text not null,
  workspace_id text collate "C" not null,
  task_id text collate "C" not null,
  vendor_task_id text,
  outcome text not null,
  deduction text,
  cost numeric(38, 12) not null,
  fail_reason text,
  time timestamptz not null,
  primary key (sequence, event_index)
);
