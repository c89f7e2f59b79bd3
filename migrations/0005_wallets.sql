-- What each workspace has, and what is set aside of it.
-- Up Migration

create table wallets (
  workspace_id text collate "C" primary key,
  credits numeric(38, 12) not null,
  charges numeric(38, 12) not null,
  adjustments numeric(38, 12) not null,
  held numeric(38, 12) not null,
  credit_limit numeric(38, 12) not null,
  balance numeric(38, 12) not null,
  subject_sequence int8 not null
) with (fillfactor = 50);

create table holds (
  workspace_id text collate "C" not null,
  hold_id text collate "C" not null,
  purpose text not null,
  owner text not null,
  amount numeric(38, 12) not null,
  remaining numeric(38, 12) not null,
  deadline timestamptz not null,
  primary key (workspace_id, hold_id)
) with (fillfactor = 50);

-- Each credit reference and adjustment id, and what it moved: a repeat moves nothing.
create table wallet_references (
  workspace_id text collate "C" not null,
  reference text collate "C" not null,
  amount numeric(38, 12) not null,
  primary key (workspace_id, reference)
);
