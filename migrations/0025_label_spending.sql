-- What tags and end users with spend limits may spend, and what they spent and hold.
-- Up Migration

create table label_spending (
  workspace_id text collate "C" not null,
  -- `tag team=search`, or `end-user` and the id of one.
  label text collate "C" not null,
  limits json not null,
  -- As of this day, which is empty while nothing was counted.
  day text collate "C" not null,
  spent_day numeric(38, 12) not null,
  spent_month numeric(38, 12) not null,
  spent_total numeric(38, 12) not null,
  held_day numeric(38, 12) not null,
  held_month numeric(38, 12) not null,
  held_total numeric(38, 12) not null,
  primary key (workspace_id, label)
) with (fillfactor = 50);
