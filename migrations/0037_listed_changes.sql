-- Who changed what, without failed callbacks, of which there may be as many as videos.
-- Up Migration

create index if not exists admin_changes_listed on admin_changes (sequence, event_index) where type <> 'CallbackFailed';
create index if not exists admin_changes_listed_of_a_workspace on admin_changes (workspace_id, sequence, event_index)
  where type <> 'CallbackFailed';
