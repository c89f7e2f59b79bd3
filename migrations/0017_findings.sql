-- Bills that were estimated and corrections are found without a look at the others, of one workspace and of all together.
-- Up Migration

create index usage_entries_estimated_of_a_workspace on usage_entries (workspace_id, sequence, event_index) where source = 'estimated';
create index usage_entries_estimated on usage_entries (sequence, event_index) where source = 'estimated';
-- Those of one workspace are in wallet_entries_other_kinds.
create index wallet_entries_adjustments on wallet_entries (sequence, event_index, line) where kind = 'adjustment';
