"""Charges usages with LiteLLM's calculator and genai-prices: a JSON object a line in, one a line out, in the same order."""

import json
import os
import sys
from decimal import Decimal

os.environ['LITELLM_LOCAL_MODEL_COST_MAP'] = 'True'

import litellm  # noqa: E402
from genai_prices.data import providers  # noqa: E402
from genai_prices.types import ModelPrice, Tier, TieredPrices  # noqa: E402
from litellm.cost_calculator import cost_per_token  # noqa: E402
from litellm.llms.anthropic.chat.transformation import AnthropicConfig  # noqa: E402
from litellm.llms.bedrock.chat.converse_transformation import AmazonConverseConfig  # noqa: E402
from litellm.llms.vertex_ai.gemini.vertex_and_google_ai_studio_gemini import VertexGeminiConfig  # noqa: E402
from litellm.llms.xai.cost_calculator import apply_server_side_tool_usage_details_to_usage  # noqa: E402
from litellm.litellm_core_utils.llm_cost_calc.tool_call_cost_tracking import StandardBuiltInToolCostTracking  # noqa: E402
from litellm.responses.utils import ResponseAPILoggingUtils  # noqa: E402
from litellm.types.llms.openai import ResponsesAPIResponse  # noqa: E402
from litellm.types.utils import ModelResponse, Usage  # noqa: E402

LITELLM = {'google': 'gemini', 'vertex': 'vertex_ai'}
GENAI = {'xai': 'x-ai', 'vertex': 'google', 'bedrock': 'aws'}
FLAVORS = {'gemini': 'default', 'converse': 'default'}
PRICES = {
    'input': 'input_mtok',
    'cached_input': 'cache_read_mtok',
    'cached_audio_input': 'cache_audio_read_mtok',
    'cached_image_input': 'cache_image_read_mtok',
    'cache_write_5m': 'cache_write_mtok',
    'cache_write_1h': 'cache_write_1h_mtok',
    'output': 'output_mtok',
    'reasoning': 'output_reasoning_mtok',
    'audio_input': 'input_audio_mtok',
    'audio_output': 'output_audio_mtok',
    'image_input': 'input_image_mtok',
    'image_output': 'output_image_mtok',
}
extracting = {provider.id: provider for provider in providers}


def litellm_usage(case):
    body, flavor = case['answer'], case['flavor']
    if flavor == 'messages':
        return AnthropicConfig().calculate_usage(usage_object=body['usage'], reasoning_content=None)
    if flavor == 'gemini':
        return VertexGeminiConfig._calculate_usage(completion_response=body)
    if flavor == 'converse':
        return AmazonConverseConfig().transform_usage(body['usage'])
    if flavor == 'responses':
        return ResponseAPILoggingUtils.transform_response_api_usage_to_chat_usage(body['usage'])
    return Usage(**body['usage'])


def litellm_tools(case, provider, usage):
    body, flavor = case['answer'], case['flavor']
    response = None
    if case['provider'] == 'xai':
        apply_server_side_tool_usage_details_to_usage(usage, body['usage'].get('server_side_tool_usage_details'))
    elif flavor == 'gemini':
        metadata = [each['groundingMetadata'] for each in body['candidates'] if 'groundingMetadata' in each]
        VertexGeminiConfig._set_grounding_usage_counters(usage, metadata)
    elif flavor == 'responses':
        response = ResponsesAPIResponse.model_construct(**body)
    elif flavor == 'chat':
        response = ModelResponse(**body)
    return StandardBuiltInToolCostTracking.get_cost_for_built_in_tools(
        model=case['model'], response_object=response, usage=usage, custom_llm_provider=provider
    )


def litellm_charge(case):
    provider = LITELLM.get(case['provider'], case['provider'])
    usage = litellm_usage(case)
    prompt, completion = cost_per_token(
        model=case['model'],
        custom_llm_provider=provider,
        usage_object=usage,
        service_tier=case['tier'],
    )
    return repr(prompt + completion + litellm_tools(case, provider, usage))


def price_of(item, rates):
    tiers = [
        Tier(start=tier['prompt_tokens_above'], price=Decimal(tier['per_million_tokens'][item]))
        for tier in rates.get('tiers', [])
        if item in tier['per_million_tokens']
    ]
    base = Decimal(rates['per_million_tokens'][item])
    return TieredPrices(base=base, tiers=tiers) if tiers else base


def genai_charge(case):
    provider = extracting[GENAI.get(case['provider'], case['provider'])]
    flavor = FLAVORS.get(case['flavor'], case['flavor'])
    if flavor == 'messages':
        flavor = 'default' if provider.id == 'anthropic' else 'anthropic'
    _, usage = provider.extract_usage({'model': case['model'], **case['answer']}, api_flavor=flavor)
    rates = case['rates']
    prices = {PRICES[item]: price_of(item, rates) for item in rates['per_million_tokens'] if item in PRICES}
    return str(ModelPrice(**prices).calc_price(usage)['total_price'])


def attempt(charge, case):
    try:
        return {'charge': charge(case)}
    except Exception as error:
        return {'error': f'{type(error).__name__}: {error}'[:200]}


answers, sys.stdout = sys.stdout, sys.stderr  # LiteLLM prints hints.
for line in sys.stdin:
    case = json.loads(line)
    print(json.dumps({'litellm': attempt(litellm_charge, case), 'genai': attempt(genai_charge, case)}), file=answers)
