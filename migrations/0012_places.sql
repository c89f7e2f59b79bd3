-- Where in the log things stand: what explains one charge, and where a statement is cut.
-- Up Migration

-- The sequence up to which what follows is kept without a gap: a projector of an earlier release, which knows nothing of it, moves the
-- checkpoint alone. Tables that were rebuilt have no gap.
alter table checkpoint add column places_to int8 not null default 0;
update checkpoint set places_to = sequence;

-- Of the side of a request that came first; null in rows from before this column, until the tables are rebuilt.
alter table requests add column first_sequence int8;

-- What is told of a charge beside a request's own two events: each event of a video task, and every correction.
create table charge_places (
  charge_id text collate "C" not null,
  sequence int8 not null,
  event_index int4 not null,
  workspace_id text collate "C" not null,
  primary key (charge_id, sequence, event_index)
);

-- The frame in which the movements of all wallets first told a time in this minute or later: no movement told it before.
create table movement_minutes (
  minute timestamptz primary key,
  sequence int8 not null
);

insert into movement_minutes (minute, sequence)
select latest, min(sequence)
from (
  select date_trunc('minute', max(time) over (order by sequence, event_index, line)) as latest, sequence
  from wallet_entries
) as running
group by latest;

-- A statement of what is rare among charges; those themselves are read by the key.
create index wallet_entries_other_kinds on wallet_entries (workspace_id, kind, sequence, event_index, line) where kind <> 'charge';
