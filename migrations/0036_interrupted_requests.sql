-- Streams that broke off after their first bytes are counted apart from those that were answered.
-- Up Migration

alter table outcomes_by_hour add column interrupted numeric not null default 0;
