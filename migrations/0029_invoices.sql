-- Invoices are found by their id, and listed.
-- Up Migration

create index admin_changes_invoices on admin_changes (subject) where type = 'InvoiceIssued';
create index admin_changes_invoices_listed on admin_changes (sequence, event_index) where type = 'InvoiceIssued';
