-- Parts of a usage with prices of their own: writes kept for twelve hours, cached audio and images; and figures that were reported below zero.
-- Up Migration

alter table usage_entries
  add column cache_read_audio int8 not null default 0,
  add column cache_read_image int8 not null default 0,
  add column cache_write_12h int8 not null default 0,
  add column negative text;

alter table usage_by_day
  add column cache_read_audio numeric not null default 0,
  add column cache_read_image numeric not null default 0,
  add column cache_write_12h numeric not null default 0;
