-- Tables of another log are recognized also where that log has grown beyond them.
-- Up Migration

-- Id of the last frame applied, and its sequence: below that of the checkpoint if an earlier release wrote since.
alter table checkpoint add column last_frame text;
alter table checkpoint add column last_frame_sequence int8;
