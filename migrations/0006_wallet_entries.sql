-- The statement: every movement of a wallet with the balance after it. Read by workspace in order, so that is the key.
-- Up Migration

create table wallet_entries (
  workspace_id text collate "C" not null,
  sequence int8 not null,
  event_index int4 not null,
  line int2 not null,
  kind text not null,
  amount numeric(38, 12) not null,
  held numeric(38, 12) not null,
  balance_after numeric(38, 12) not null,
  held_after numeric(38, 12) not null,
  reference text not null,
  time timestamptz not null,
  primary key (workspace_id, sequence, event_index, line)
);
