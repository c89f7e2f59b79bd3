-- The event of each change, by its own id.
-- Up Migration

alter table admin_changes add column if not exists event_id text;
