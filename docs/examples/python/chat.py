"""Ask a private LLM one question with the OpenAI SDK; the answer appears as it is written.

The SDK reads OPENAI_API_KEY and OPENAI_BASE_URL by itself: eval "$(privatellm env NAME)".
"""

import sys

import openai

client = openai.OpenAI()
(model,) = client.models.list()  # A private LLM serves one model.

stream = client.chat.completions.create(
    model=model.id,
    messages=[
        {"role": "user", "content": " ".join(sys.argv[1:]) or "What is the capital of France?"}
    ],
    temperature=0,
    max_tokens=24,
    stop=["\n"],  # The demo's small base model would go on and on.
    stream=True,
)
for event in stream:
    for choice in event.choices:
        print(choice.delta.content or "", end="", flush=True)
print()
