-- How calls of providers and their deployments ended by hour, and the last one that failed.
-- Up Migration

create table calls_by_hour (
  hour timestamptz not null,
  provider text collate "C" not null,
  deployment text collate "C" not null,
  calls numeric not null,
  failed numeric not null,
  first_token_125 numeric not null,
  first_token_250 numeric not null,
  first_token_500 numeric not null,
  first_token_1000 numeric not null,
  first_token_2000 numeric not null,
  first_token_4000 numeric not null,
  first_token_8000 numeric not null,
  first_token_16000 numeric not null,
  first_token_32000 numeric not null,
  first_token_64000 numeric not null,
  first_token_above numeric not null,
  primary key (hour, provider, deployment)
) with (fillfactor = 50);

create table failed_calls (
  provider text collate "C" not null,
  deployment text collate "C" not null,
  at timestamptz not null,
  model text not null,
  status int4,
  reason text,
  primary key (provider, deployment)
);
