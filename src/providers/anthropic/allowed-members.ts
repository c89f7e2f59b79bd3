import { recursiveShape, type Shape, shapeOf } from '../canonical/allowed-members.ts'

const tool = shapeOf(
  'name description input_schema strict cache_control defer_loading allowed_callers input_examples eager_input_streaming ' +
    'max_uses max_content_tokens max_tokens max_characters allowed_domains blocked_domains user_location citations ' +
    'caching model url_sources use_cache response_inclusion configs default_config display_width_px display_height_px ' +
    'display_number enable_zoom mcp_server_name tools',
)

const change = shapeOf('name server_name', { definition: tool })

const block = recursiveShape((self) =>
  shapeOf(
    'text citations cache_control title context thinking signature data id name input caller toolset_name tool_use_id ' +
      'is_error encrypted_content tool_references transformations from to trigger server_name mcp_server_name tools url ' +
      'page_age retrieved_at error_code error_message tool_name stdout stderr return_code encrypted_stdout lines tabs ' +
      'state_changes file_type is_file_update num_lines start_line total_lines old_start old_lines new_start new_lines ' +
      'stop_reason',
    {
      content: self,
      document: self,
      source: shapeOf('media_type data', { file_id: 'account', url: 'address', content: self }),
      tool: change,
      tool_changes: shapeOf('cache_control', { tool: change }),
      file_id: 'account',
    },
  ),
)

const server = shapeOf('name authorization_token tool_configuration', { url: 'address' })

export const messagesMembers: Shape = shapeOf(
  'model models route extra_body max_tokens stream temperature top_p top_k stop_sequences metadata service_tier thinking ' +
    'output_config output_format tool_choice cache_control compaction context_management inference_geo speed ' +
    'fallbacks thread',
  {
    messages: shapeOf('role clear_at output_config', { content: block }),
    system: block,
    tools: tool,
    mcp_servers: server,
    container: 'account',
    diagnostics: shapeOf('', { previous_message_id: 'account' }),
    billing_policy: 'account',
    fallback_credit_token: 'account',
    user_profile_id: 'account',
    workspace_id: 'account',
  },
)
