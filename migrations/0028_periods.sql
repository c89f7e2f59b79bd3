-- Months that are closed are read with every statement.
-- Up Migration

create index admin_changes_periods on admin_changes (sequence, event_index)
where type in ('PeriodCutOff', 'PeriodClosed', 'PeriodReopened');
