-- Tags and end users of requests: of each bill, and what was used by day under each.
-- Up Migration

alter table usage_entries
  add column tags json,
  add column end_user text collate "C";

create table usage_by_label (
  day date not null,
  workspace_id text collate "C" not null,
  -- `tag:<name>`, or `end_user`.
  label text collate "C" not null,
  value text collate "C" not null,
  model text collate "C" not null,
  key_id text collate "C" not null,
  surface text collate "C" not null,
  requests numeric not null,
  prompt_total numeric not null,
  input_uncached numeric not null,
  cache_read numeric not null,
  cache_read_audio numeric not null,
  cache_read_image numeric not null,
  cache_write_5m numeric not null,
  cache_write_1h numeric not null,
  cache_write_12h numeric not null,
  input_audio numeric not null,
  input_image numeric not null,
  output_total numeric not null,
  output_reasoning numeric not null,
  output_audio numeric not null,
  output_image numeric not null,
  total numeric(38, 12) not null,
  primary key (workspace_id, label, value, day, model, key_id, surface)
) with (fillfactor = 50);
