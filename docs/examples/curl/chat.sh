#!/bin/sh
# Ask a private LLM one question. The key comes by standard input, because every user of the machine may
# read the arguments of a program.
set -eu

model=$(printf 'Authorization: Bearer %s' "$OPENAI_API_KEY" |
  curl --silent --show-error --fail-with-body --header @- "$OPENAI_BASE_URL/models" |
  sed 's/.*"id":"\([^"]*\)".*/\1/')

printf 'Authorization: Bearer %s' "$OPENAI_API_KEY" |
  curl --silent --show-error --fail-with-body --header @- --header 'Content-Type: application/json' \
    "$OPENAI_BASE_URL/chat/completions" --data '{
      "model": "'"$model"'",
      "messages": [{"role": "user", "content": "What is the capital of France?"}],
      "temperature": 0, "max_tokens": 24, "stop": ["\n"]
    }'
