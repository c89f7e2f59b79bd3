-- Requests by the ids that providers gave to their calls, by which one is looked for.
-- Up Migration

-- A text with an escaped character, such as U+0000, may be none that jsonb can hold: such a request is not found by these ids.
create index if not exists requests_by_upstream_request_id on requests using gin ((
  case when attempts::text like '%\\u%' then '[]'
  else jsonb_path_query_array(attempts::jsonb, '$[*].upstreamRequestId') end
) jsonb_path_ops);
