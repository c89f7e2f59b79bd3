-- Plans, who has which, what they cost, and what is left of credits that lapse.
-- Up Migration

create table plans (
  plan_id text collate "C" primary key,
  published json not null
) with (fillfactor = 50);

-- The plan that a workspace has; it has one at a time.
create table subscriptions (
  workspace_id text collate "C" primary key,
  subscription_id text collate "C" not null,
  terms json not null,
  starts_at timestamptz not null,
  expires_at timestamptz not null,
  anchor_day int2 not null,
  renews boolean not null
) with (fillfactor = 50);

alter table wallets
  add column fees numeric(38, 12) not null default 0,
  add column lapsed numeric(38, 12) not null default 0,
  -- In the order in which they are spent: [{ reference, remaining, expiresAt }].
  add column grants json not null default '[]';
