-- The customer's account of a workspace, by which reports are grouped.
-- Up Migration

alter table workspaces add column account text collate "C";
