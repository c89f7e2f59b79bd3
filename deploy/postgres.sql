-- The roles of a deployment's database: run it there once, as its superuser. Then give each role its password, or map a certificate to it.
create role gateway_projector login;
create role gateway_edge login;
create role gateway_video_poller login;
create role gateway_scheduler login;
create role gateway_operator login;

-- No other role connects. Schemas are made by the projector's migrations (`ledger`) and by a rebuild (`ledger_rebuild`, then swapped in).
do $$
begin
  execute format('revoke all on database %I from public', current_database());
  execute format('grant connect on database %I to gateway_projector, gateway_edge, gateway_video_poller, gateway_scheduler, gateway_operator', current_database());
  -- Temporary tables hold an invoice's rows while an operator compares it with the ledger.
  execute format('grant create, temporary on database %I to gateway_projector', current_database());
end
$$;

-- The tables are only read by these, those of a later migration or a rebuild too.
alter default privileges for role gateway_projector grant usage on schemas to gateway_edge, gateway_video_poller, gateway_scheduler;
alter default privileges for role gateway_projector grant select on tables to gateway_edge, gateway_video_poller, gateway_scheduler;

-- A rebuild swaps the schema, so what an operator's command makes belongs to the projector from the start.
grant gateway_projector to gateway_operator;
alter role gateway_operator set role = gateway_projector;

-- What the scheduler signed last is kept apart from the tables, which are rebuilt. Who makes its table first, lets the other use it.
create schema ledger_audit;
grant usage, create on schema ledger_audit to gateway_scheduler, gateway_projector;
alter default privileges for role gateway_projector in schema ledger_audit grant select, insert, update on tables to gateway_scheduler;
alter default privileges for role gateway_scheduler in schema ledger_audit grant select, insert, update on tables to gateway_projector;
