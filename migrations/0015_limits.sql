-- What workspaces and keys may do.
-- Up Migration

create table limits (
  workspace_id text collate "C" not null,
  -- Empty for the limits of the workspace.
  key_id text collate "C" not null,
  limits json not null,
  primary key (workspace_id, key_id)
);
