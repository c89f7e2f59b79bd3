-- A movement is posted at the time of its event, or of the wallet's last movement where that is later: statements, reports and usage are cut there.
-- Up Migration

alter table wallet_entries add column event_time timestamptz;
