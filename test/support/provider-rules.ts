/**
 * The rules of each provider for what a call takes, written from their documentation: what breaks one is refused with
 * status 400, or by the SDK before it is sent. Each function returns what is wrong, a sentence each.
 */
import { modelMessageSchema } from 'ai'
import type { Dialect } from 'colloquy'
import type { RequestForms } from '../../src/request/dialects/index.ts'

export function ruleBreaks<D extends Dialect>(dialect: D, form: RequestForms[D]): string[] {
  const rules = { anthropic, 'openai-chat': openAiChat, 'openai-responses': openAiResponses, 'ai-sdk': aiSdk, gemini }
  const check = rules[dialect] as (form: RequestForms[D]) => string[]
  return [...check(form), ...surrogates(form)].map(problem => `${dialect}: ${problem}`)
}

function surrogates(form: unknown): string[] {
  return /\\ud[89a-f]/i.test(JSON.stringify(form).replace(/\\\\/g, '')) ? ['a lone surrogate'] : []
}

function blank(text: string): boolean {
  return text.trim() === ''
}

function anthropic({ system = [], messages, tools = [] }: RequestForms['anthropic']): string[] {
  const problems: string[] = []
  const blocks = messages.flatMap(({ content }) => content)
  if (messages[0]?.role !== 'user') problems.push('the first message must be a user’s')
  if (messages.at(-1)?.role !== 'user') problems.push('the conversation must end with a user message')
  for (const { text } of system) if (blank(text)) problems.push('system: text must contain non-whitespace')
  const ids = new Set<string>()
  messages.forEach(({ role, content }, index) => {
    if (content.length === 0) problems.push('content must not be empty')
    if (role === messages[index - 1]?.role) problems.push('roles must alternate')
    const calls = content.flatMap(block => (block.type === 'tool_use' ? [block] : []))
    const next = messages[index + 1]?.content ?? []
    const answers = next.flatMap(block => (block.type === 'tool_result' ? [block.tool_use_id] : []))
    if (
      !same(
        calls.map(call => call.id),
        answers,
      )
    )
      problems.push('tool_use without tool_result right after it')
    if (next.slice(0, answers.length).some(block => block.type !== 'tool_result'))
      problems.push('tool_result blocks must come first')
    for (const { id, name, input } of calls) {
      if (!/^[a-zA-Z0-9_-]+$/.test(id)) problems.push(`tool_use.id ${id} has other characters`)
      if (ids.has(id)) problems.push(`tool_use ids must be unique: ${id}`)
      ids.add(id)
      if (!/^[a-zA-Z0-9_-]{1,128}$/.test(name)) problems.push(`tool_use.name ${name} has other characters`)
      if (!isObject(input)) problems.push('tool_use.input must be an object')
    }
    if (role === 'assistant' && content.some(block => block.type === 'tool_result' || block.type === 'image'))
      problems.push('an assistant’s message has text, thinking and calls only')
    if (role === 'user' && content.some(block => block.type === 'tool_use' || block.type === 'thinking'))
      problems.push('a user’s message has no calls and no thinking')
  })
  for (const block of blocks) {
    if (block.type === 'text' && blank(block.text))
      problems.push('text content blocks must contain non-whitespace text')
    if (block.type === 'thinking' && block.signature === '') problems.push('thinking needs its signature')
    if (block.type === 'image' && block.source.type === 'base64' && !isBase64(block.source.data))
      problems.push('an image must be base64')
  }
  const marks = [...system, ...tools, ...blocks].filter(block => 'cache_control' in block)
  if (marks.length > 4) problems.push('a maximum of 4 blocks with cache_control')
  return problems
}

function openAiChat({ messages }: RequestForms['openai-chat']): string[] {
  const problems: string[] = []
  const ids = new Set<string>()
  let open: string[] = []
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!open.includes(message.tool_call_id)) problems.push('a tool message must follow the call it answers')
      open = open.filter(id => id !== message.tool_call_id)
      continue
    }
    if (open.length > 0) problems.push(`tool_call_ids without a response: ${open}`)
    open = []
    const { content } = message
    if (typeof content === 'string' && blank(content)) problems.push('an empty text')
    if (Array.isArray(content) && content.some(part => part.type === 'text' && blank(part.text)))
      problems.push('an empty text part')
    if (message.role !== 'assistant') continue
    const calls = message.tool_calls ?? []
    if (content === null && calls.length === 0) problems.push('an assistant’s message needs content or calls')
    for (const { id, function: called } of calls) {
      if (id.length > 40 || id === '') problems.push(`an id may have 40 characters: ${id}`)
      if (ids.has(id)) problems.push(`an id twice: ${id}`)
      ids.add(id)
      open.push(id)
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(called.name)) problems.push(`name ${called.name}`)
      if (!isObject(JSON.parse(called.arguments))) problems.push('arguments must be the JSON of an object')
    }
  }
  return problems
}

function openAiResponses({ input }: RequestForms['openai-responses']): string[] {
  const problems: string[] = []
  const calls = new Set<string>()
  const answers = new Set<string>()
  for (const item of input) {
    if ('role' in item) {
      const texts =
        typeof item.content === 'string'
          ? [item.content]
          : item.content.map(part => ('text' in part ? part.text : 'image'))
      if (texts.length === 0 || texts.some(blank)) problems.push('an empty text')
    } else if (item.type === 'function_call') {
      if (calls.has(item.call_id) || item.call_id.length > 64) problems.push(`call_id ${item.call_id}`)
      calls.add(item.call_id)
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(item.name)) problems.push(`name ${item.name}`)
      if (!isObject(JSON.parse(item.arguments))) problems.push('arguments must be the JSON of an object')
    } else if (item.type === 'function_call_output') {
      if (!calls.has(item.call_id)) problems.push(`no tool call found for ${item.call_id}`)
      answers.add(item.call_id)
    }
  }
  for (const id of calls) if (!answers.has(id)) problems.push(`no tool output found for ${id}`)
  return problems
}

function gemini({ contents }: RequestForms['gemini']): string[] {
  const problems: string[] = []
  if (contents[0]?.role !== 'user') problems.push('the first content must be a user’s')
  contents.forEach(({ role, parts }, index) => {
    if (parts.length === 0) problems.push('parts must not be empty')
    if (role === contents[index - 1]?.role) problems.push('roles must alternate')
    const calls = parts.flatMap(part => ('functionCall' in part ? [part.functionCall.name] : []))
    const next = contents[index + 1]?.parts ?? []
    const answers = next.flatMap(part => ('functionResponse' in part ? [part.functionResponse.name] : []))
    if (!same(calls, answers)) problems.push('as many function responses as function calls, in the turn behind them')
    for (const part of parts) {
      if ('text' in part && blank(part.text)) problems.push('an empty text')
      if ('functionCall' in part && !/^[a-z_][\w.-]{0,63}$/i.test(part.functionCall.name))
        problems.push('a function’s name')
      if ('functionCall' in part && !isObject(part.functionCall.args)) problems.push('args must be an object')
    }
  })
  return problems
}

function aiSdk({ messages }: RequestForms['ai-sdk']): string[] {
  const problems: string[] = []
  messages.forEach((message, index) => {
    const read = modelMessageSchema.safeParse(message)
    if (!read.success) problems.push(read.error.message)
    const { role, content } = message
    if (content.some(part => part.type === 'text' && blank(part.text))) problems.push('an empty text')
    const calls =
      role === 'assistant' ? content.flatMap(part => (part.type === 'tool-call' ? [part.toolCallId] : [])) : []
    const next = messages[index + 1]
    const answers = next?.role === 'tool' ? next.content.map(part => part.toolCallId) : []
    if (!same(calls, answers)) problems.push('tool results are missing for tool calls')
  })
  return problems
}

function same(first: readonly string[], second: readonly string[]): boolean {
  return [...first].sort().join('\n') === [...second].sort().join('\n')
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isBase64(text: string): boolean {
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text)
}
