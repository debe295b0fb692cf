/** The door of models through the AI SDK: Anthropic, whatever speaks OpenAI's protocol, and any model of the SDK itself. */
export { type AnthropicOptions, anthropicModel } from './anthropic.ts'
export { type AiSdkModelOptions, aiSdkModel } from './model.ts'
export { type OpenAiCompatibleOptions, openAiCompatibleModel } from './openai-compatible.ts'
export type { Dialect } from './prompt.ts'
