"""A session of the Python SDK's tool runner: prints the last answer. Arguments: base URL, key, model, what the tool says."""

import sys

from anthropic import Anthropic, beta_tool

base_url, key, model, word = sys.argv[1:]


@beta_tool
def weather(place: str) -> str:
    """Tells the weather.

    Args:
        place: Where.
    """
    return f"{word} in {place}"


client = Anthropic(base_url=base_url, api_key=key, max_retries=0)
asked = {"model": model, "max_tokens": 1000, "tools": [weather], "messages": [{"role": "user", "content": "How is it in Bern?"}]}
whole = client.beta.messages.tool_runner(**asked).until_done()
for stream in client.beta.messages.tool_runner(**asked, stream=True):
    streamed = stream.get_final_message()
for message in (whole, streamed):
    print("".join(block.text for block in message.content if block.type == "text"))
