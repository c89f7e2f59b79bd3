-- A frame that was stored twice counts once: which counters of each writer were seen is part of the fold.
-- Up Migration

create table writers (
  writer text collate "C" primary key,
  low int8 not null,
  above int8[] not null
) with (fillfactor = 50);
