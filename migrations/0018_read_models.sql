-- With which version of a read model its rows were made. One whose version is behind the program's, or that has none, is filled anew from the log.
-- Up Migration

create table read_models (
  name text collate "C" primary key,
  version int4 not null
);

-- As the programs before this one made them. A migration that adds a read model adds no row here; one that drops it deletes its row.
insert into read_models (name, version)
select name, 1
from unnest(array['accounts', 'admin-changes', 'charges', 'plans', 'prices', 'requests', 'routing', 'seals', 'statements', 'stored-responses', 'tasks', 'usage', 'wallets', 'writers']) as name;
