-- Answers that were charged when their edge ended without a shutdown: whether they reached their callers is unknown.
-- Up Migration

create table writer_activity (
  writer text collate "C" primary key,
  seen_at timestamptz not null
) with (fillfactor = 50);

create table lost_writers (
  writer text collate "C" primary key,
  lost_at timestamptz not null
);

-- The process that routed the request.
alter table usage_entries add column edge text collate "C";
-- Bills come about in the order of their times: the index is a few kilobytes.
create index usage_entries_by_time on usage_entries using brin (time);
