// Ask a private LLM one question with the OpenAI SDK; the answer appears as it is written.
// The SDK reads OPENAI_API_KEY and OPENAI_BASE_URL by itself: eval "$(privatellm env NAME)".
import OpenAI from "openai";

const client = new OpenAI();
const { data: [model] } = await client.models.list(); // A private LLM serves one model.

const stream = await client.chat.completions.create({
  model: model.id,
  messages: [{ role: "user", content: process.argv[2] ?? "What is the capital of France?" }],
  temperature: 0,
  max_tokens: 24,
  stop: ["\n"], // The demo's small base model would go on and on.
  stream: true,
});
for await (const event of stream) {
  process.stdout.write(event.choices[0]?.delta?.content ?? "");
}
process.stdout.write("\n");
