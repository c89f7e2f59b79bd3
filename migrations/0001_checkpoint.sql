-- Every table below stands at one sequence of the log: the checkpoint moves in the transaction that writes their rows.
-- Up Migration

create table checkpoint (
  single boolean primary key default true check (single),
  sequence int8 not null check (sequence >= 0),
  -- Id of the log's first frame, `<writer>:<counter>`: the tables are never continued from another log.
  first_frame text
) with (fillfactor = 10);

insert into checkpoint (sequence) values (0);
