import { recursiveShape, type Shape, shapeOf } from '../canonical/allowed-members.ts'
import { cacheOptions, compatibleMembers } from '../openai/allowed-members.ts'

const part = shapeOf(
  'text refusal detail filename annotations logprobs prompt_cache_breakpoint input_audio stdout stderr outcome',
  { file_id: 'account', image_url: 'address', file_url: 'address', file_data: 'address' },
)

const skill = shapeOf('name description path version source', { skill_id: 'account' })

const environment = shapeOf('memory_limit network_policy', {
  container_id: 'account',
  file_ids: 'account',
  skills: skill,
})

const tool = recursiveShape((self) =>
  shapeOf(
    'name description parameters strict output_schema allowed_callers async defer_loading format filters user_location ' +
      'search_context_size search_content_types external_web_access ranking_options max_num_results model quality size ' +
      'action background complexity frame_count frame_duration_ms input_fidelity moderation output_compression ' +
      'output_format partial_images svg display_height display_width execution server_label server_description ' +
      'authorization headers allowed_tools require_approval allowed_domains excluded_domains allowed_x_handles ' +
      'excluded_x_handles from_date to_date enable_image_understanding enable_video_understanding enable_image_search ' +
      'return_citations input_schema annotations',
    {
      container: shapeOf('memory_limit network_policy', { file_ids: 'account', skills: skill }, 'account'),
      // A computer's is a word; a shell's is an object.
      environment,
      vector_store_ids: 'account',
      collection_ids: 'account',
      connector_id: 'account',
      tunnel_id: 'account',
      server_url: 'address',
      input_image_mask: shapeOf('', { file_id: 'account', image_url: 'address' }),
      tools: self,
    },
  ),
)

/** An item's own id, and what it links to, are replaced: see `detachedInput`. */
const item = shapeOf(
  'id role status call_id name namespace arguments input phase summary encrypted_content action actions queries results ' +
    'result error code outputs container_id server_label approval_request_id approve reason operation caller async ' +
    'pending_safety_checks acknowledged_safety_checks reasoning text execution size quality background output_format ' +
    'revised_prompt svg_usage max_output_length fingerprint',
  {
    content: part,
    output: part,
    environment,
    tools: tool,
  },
)

export const responsesMembers: Shape = shapeOf(
  'model models route extra_body background client_metadata context_management image include instructions max_output_tokens ' +
    'max_tool_calls metadata moderation parallel_tool_calls previous_response_id prompt_cache_key ' +
    'prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text ' +
    `tool_choice top_logprobs top_p truncation user ${compatibleMembers}`,
  {
    input: item,
    tools: tool,
    prompt: 'account',
    conversation: 'account',
    prompt_cache_options: cacheOptions,
    access_programs: 'account',
  },
)
