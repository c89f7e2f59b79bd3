import { type Shape, shapeOf } from '../canonical/allowed-members.ts'

const linked = shapeOf(
  'detail format media_type fps min_pixels max_pixels',
  { url: 'address', file_id: 'account' },
  'address',
)

const part = shapeOf(
  'text refusal cache_control prompt_cache_breakpoint citations input_audio data ' +
    'uuid thinking closed reference_ids document_name image_index min_pixels max_pixels fps',
  {
    file: shapeOf('filename', { file_id: 'account', file_data: 'address', file_url: 'address' }),
    image_url: linked,
    audio_url: linked,
    video_url: linked,
    document_url: linked,
    image: linked,
    video: linked,
    file_id: 'account',
  },
)

const message = shapeOf(
  'role name refusal tool_call_id tool_calls function_call annotations ' +
    'reasoning reasoning_content reasoning_details thinking prefix partial cache_control phase',
  { content: part, images: part, audio: shapeOf('', { id: 'account' }) },
)

const tool = shapeOf('function custom name description parameters strict cache_control defer_loading', {
  vector_store_ids: 'account',
  collection_ids: 'account',
})

export const cacheOptions = shapeOf('mode ttl prewarm', { comparison_response_id: 'account' })

/** What compatible providers and aggregators take in objects, none of which names anything of an account. */
export const compatibleMembers =
  'reasoning thinking chat_template_kwargs provider structured_outputs guided_json guided_choice guided_grammar grammar ' +
  'json_schema transforms usage cache_control plugins options format search_parameters context_management trace ' +
  'session_id user_id request_id trace_id translation_options bad_words_ids stop_token_ids allowed_token_ids'

export const chatMembers: Shape = shapeOf(
  'model models route extra_body frequency_penalty function_call functions logit_bias logprobs max_completion_tokens ' +
    'max_tokens metadata modalities moderation n parallel_tool_calls presence_penalty prompt_cache_key ' +
    'prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream ' +
    `stream_options temperature tool_choice top_logprobs top_p user verbosity web_search_options ${compatibleMembers}`,
  {
    messages: message,
    tools: tool,
    audio: shapeOf('format'),
    prediction: shapeOf('', { content: part }),
    prompt_cache_options: cacheOptions,
    google: shapeOf('thinking_config', { cached_content: 'account' }),
    data_sources: 'account',
    cached_content: 'account',
    previous_response_id: 'account',
  },
)
