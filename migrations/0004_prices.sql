-- Every price sheet ever published, in the order of the log: a charge names the version it was made with.
-- Up Migration

create table prices (
  sequence int8 not null,
  event_index int4 not null,
  model text collate "C" not null,
  version text collate "C" not null,
  effective_from timestamptz not null,
  -- What the event says, to the letter; json and not jsonb, here and below, since jsonb refuses some strings that an event may hold.
  published json not null,
  primary key (sequence, event_index)
);
