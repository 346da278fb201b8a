"""Tell a key that has ended from a platform that is busy: what to do about each failure.

The SDK itself tries again after 429 and 5xx, twice unless told otherwise, and keeps to Retry-After.
"""

import sys

import openai

client = openai.OpenAI(max_retries=4)

try:
    (model,) = client.models.list()
    print(f"The key works; the model is {model.id}.")
except openai.AuthenticationError as error:
    sys.exit(
        f"The key is refused ({error.code}). Read it from its Secret again, or ask for another one."
    )
except openai.PermissionDeniedError as error:
    sys.exit(f"The key is for another private LLM, or the path is not served ({error.code}).")
except openai.RateLimitError:
    sys.exit("The limit of this key is reached. Send fewer requests, or ask for a higher limit.")
except openai.APIStatusError as error:
    sys.exit(
        f"The endpoint answers {error.status_code}: it is stopped, or the platform is not well."
    )
except openai.APIConnectionError:
    sys.exit("Nothing answers at this address. Compare OPENAI_BASE_URL with status.endpoint.")
