-- How requests ended by hour, and when their first token came.
-- Up Migration

alter table requests add column first_token_ms int4;

-- The hour is that of the end. Columns of first tokens count those that came within so many ms, each in one.
create table outcomes_by_hour (
  hour timestamptz not null,
  workspace_id text collate "C" not null,
  model text collate "C" not null,
  key_id text collate "C" not null,
  requests numeric not null,
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
  primary key (workspace_id, hour, model, key_id)
) with (fillfactor = 50);

create index outcomes_by_hour_hour on outcomes_by_hour (hour);
