/** Converts the content of other formats to parts: text, reasoning, tool calls and results, files. Pure. */
import type { Part } from 'colloquy/client'
import { type Fields, isFields, textIn } from './entries.ts'

export function partsOf(content: unknown): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  if (!Array.isArray(content)) return isFields(content) ? partsOf([content]) : []
  return content.flatMap(block => (isFields(block) ? partOf(block) : typeof block === 'string' ? partsOf(block) : []))
}

function partOf(block: Fields): Part[] {
  switch (block.type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return partsOf(textIn(block, 'text'))
    case 'thinking':
    case 'reasoning': {
      const text = textIn(block, 'thinking', 'text')
      return text === undefined ? [] : [{ type: 'reasoning', text }]
    }
    case 'tool_use':
    case 'server_tool_use':
    case 'toolCall':
    case 'tool-call':
      return callOf(block)
    case 'tool_result':
    case 'tool-result':
      return [resultOf(block)]
    case 'file':
      return [fileOf(block)]
    case 'image':
    case 'image_url':
    case 'input_image':
    case 'document':
      return [pictureOf(block)]
    default:
      return partsOf(textIn(block, 'text'))
  }
}

/** Converts a tool call, either a content block or OpenAI's form with its input as text. */
export function callOf(block: Fields): Part[] {
  const inner = isFields(block.function) ? block.function : block
  const name = textIn(inner, 'name', 'toolName')
  const callId = textIn(block, 'callId', 'toolCallId', 'call_id', 'id')
  if (name === undefined || callId === undefined) return []
  const given = inner.input ?? inner.arguments ?? inner.args ?? {}
  return [{ type: 'tool-call', callId, name, input: typeof given === 'string' ? valueIn(given) : given }]
}

export function resultOf(block: Fields): Part {
  const callId = textIn(block, 'callId', 'tool_use_id', 'toolCallId', 'tool_call_id', 'call_id') ?? 'unknown'
  const name = textIn(block, 'name', 'toolName')
  const output = plainOutput(block.output ?? block.result ?? block.content)
  const isError = block.isError === true || block.is_error === true
  return { type: 'tool-result', callId, ...(name !== undefined && { name }), output, ...(isError && { isError }) }
}

/** Blocks that are all text are joined into one text. */
function plainOutput(output: unknown): unknown {
  if (isFields(output) && output.type === 'text' && typeof output.value === 'string') return output.value
  if (!Array.isArray(output)) return output ?? null
  const texts = output.map(block => (isFields(block) ? textIn(block, 'text') : undefined))
  return texts.every(text => text !== undefined) ? texts.join('\n') : output
}

function fileOf(block: Fields): Part {
  const [path, url, text, mediaType] = ['path', 'url', 'text', 'mediaType'].map(name => textIn(block, name))
  return {
    type: 'file',
    name: textIn(block, 'name', 'filename') ?? path ?? 'a file',
    ...(mediaType !== undefined && { mediaType }),
    ...(path !== undefined && { path }),
    // A data URL is left out, because its content would be stored twice.
    ...(url !== undefined && !url.startsWith('data:') && { url }),
    ...(text !== undefined && { text }),
  }
}

/** Keeps a note that there was an image; its data is not imported. */
function pictureOf(block: Fields): Part {
  const source = isFields(block.source) ? block.source : block
  const mediaType = textIn(source, 'media_type', 'mediaType', 'mimeType')
  const name = textIn(block, 'title', 'name') ?? (block.type === 'document' ? 'a document' : 'an image')
  return { type: 'file', name, ...(mediaType !== undefined && { mediaType }) }
}

function valueIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
