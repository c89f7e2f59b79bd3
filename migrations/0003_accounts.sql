-- Who pays and who calls.
-- Up Migration

create table workspaces (
  workspace_id text collate "C" primary key,
  name text not null,
  credit_limit numeric(38, 12) not null
);

create table keys (
  key_id text collate "C" primary key,
  workspace_id text collate "C" not null,
  name text not null,
  sha256 text collate "C" not null,
  prefix text not null,
  revoked boolean not null
);
