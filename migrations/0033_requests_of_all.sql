-- The newest requests of all workspaces: administrators look for one of which they know the time or the provider's id alone.
-- Up Migration

create index if not exists requests_by_sequence on requests (sequence, event_index);
