-- Tasks that were charged with the figure of their hold, because the vendor reported no deduction: findings list them.
-- Up Migration

create index if not exists tasks_missing_deduction on tasks (finished_at) where source = 'estimated' and deduction is null;
