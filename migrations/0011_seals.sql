-- Checkpoints of the log, by which a proof of one charge finds the tree before it. Their leaves stay in the log.
-- Up Migration

create table seals (
  -- Of several that seal as much, the first.
  size int8 primary key,
  sequence int8 not null,
  from_size int8 not null,
  root text not null,
  peaks json not null,
  note text not null
);
