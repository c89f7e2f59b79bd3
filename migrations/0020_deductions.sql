-- Tasks that were charged with the figure of their hold, although the vendor deducted something.
-- Up Migration

create index tasks_implausible_deduction on tasks (finished_at) where source = 'estimated' and deduction is not null;
