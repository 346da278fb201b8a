"""The same question through LangChain, as a chain of a prompt and a model.

``ChatOpenAI`` reads OPENAI_API_KEY and OPENAI_BASE_URL: eval "$(privatellm env NAME)".
"""

import openai
from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI

(served,) = openai.OpenAI().models.list()

prompt = ChatPromptTemplate.from_messages([("user", "What is the capital of {country}?")])
model = ChatOpenAI(model=served.id, temperature=0, max_completion_tokens=24, stop_sequences=["\n"])
chain = prompt | model

print(chain.invoke({"country": "France"}).text.strip())
