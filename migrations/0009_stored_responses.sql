-- Whose an answer is that a provider keeps under an id: only its own workspace may name it later.
-- Up Migration

create table stored_responses (
  response_id text collate "C" primary key,
  workspace_id text collate "C" not null,
  provider text not null,
  request_id text collate "C" not null,
  -- Where the event stands that completed the request.
  sequence int8 not null
);
