// openai-node and the Vercel AI SDK against a running `botpsy serve`.
//
//     node checks/clients/node.mjs http://127.0.0.1:PORT/v1 KEY
//
// Needs `npm install openai ai @ai-sdk/openai-compatible zod` in a folder above, or NODE_PATH's like.
import assert from "node:assert";
import OpenAI from "openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const [baseURL, apiKey] = process.argv.slice(2);
const messages = [{ role: "user", content: "Wake me up at 7 am" }];
const parameters = { type: "object", properties: { time: { type: "string" } }, required: ["time"], additionalProperties: false };
const tools = [{ type: "function", function: { name: "set_alarm", description: "Sets an alarm", parameters } }];

async function openaiNode() {
  const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
  const plain = await client.chat.completions.create({ model: "m", messages });
  assert.ok(plain.choices[0].message.content || plain.choices[0].message.reasoning_content);
  const request = { model: "m", messages, tools, tool_choice: "required", seed: 4, temperature: 1 };
  const whole = (await client.chat.completions.create(request)).choices[0].message.tool_calls;
  const runner = client.chat.completions.stream(request);
  const streamed = (await runner.finalChatCompletion()).choices[0].message.tool_calls;
  const essence = (calls) => calls.map((call) => [call.function.name, call.function.arguments]);
  assert.deepEqual(essence(streamed), essence(whole));
  assert.ok(JSON.parse(whole[0].function.arguments).time !== undefined);
  const cut = await client.chat.completions.create({ ...request, stream: true, max_tokens: 4000 });
  for await (const _ of cut) break;
  await assert.rejects(new OpenAI({ baseURL, apiKey: "wrong", maxRetries: 0 }).models.list(), (error) => error.status === 401);
}

async function aiSdk() {
  const model = createOpenAICompatible({ name: "botpsy", baseURL, apiKey, includeUsage: true })("m");
  const plain = await generateText({ model, prompt: "Hello" });
  assert.ok(plain.text || plain.reasoningText);
  const set_alarm = tool({ description: "Sets an alarm", inputSchema: z.object({ time: z.string() }), execute: async () => "done" });
  const steps = await generateText({ model, prompt: "Wake me up at 7 am", tools: { set_alarm }, toolChoice: "required", stopWhen: stepCountIs(3) });
  assert.equal(steps.steps.length, 3);
  assert.ok(steps.steps.every((step) => step.toolCalls.every((call) => typeof call.input.time === "string")));
  const stream = streamText({ model, prompt: "Wake me up at 7 am", tools: { set_alarm }, toolChoice: "required" });
  const kinds = new Set();
  for await (const part of stream.fullStream) kinds.add(part.type);
  for (const kind of ["reasoning-delta", "tool-input-delta", "tool-call", "finish"]) assert.ok(kinds.has(kind), `${kind} in ${[...kinds]}`);
  assert.ok(!kinds.has("error"));
  assert.ok((await stream.usage).outputTokens > 0);
}

for (const check of [openaiNode, aiSdk]) {
  await check();
  console.log(`node: ${check.name}`);
}
