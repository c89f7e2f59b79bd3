-- Bills that an operator must look at: charged without a price of their own, or for a usage that cannot be.
-- Up Migration

alter table usage_entries add column exception text;
create index usage_entries_exceptions_of_a_workspace on usage_entries (workspace_id, sequence, event_index) where exception is not null;
create index usage_entries_exceptions on usage_entries (sequence, event_index) where exception is not null;
