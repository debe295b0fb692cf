/**
 * The calls of a recorded pi session: for each, our count of the whole prompt and the provider's. The recording lies
 * outside the project; without it the tests that need it are skipped.
 */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { MessageInput, Part } from 'colloquy'
import type { Measured } from '../../../src/request/text/calibration.ts'

const project = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))
export const piSession = join(dirname(project), 'shared/data/pi-sessions/before-compaction.jsonl')
export const piSessionIsThere = existsSync(piSession)

export interface RecordedCall extends Measured {
  model: string
  /** The call it continues: request and answer. Absent for the first call and after a compaction. */
  previous?: Measured
}

type Block = { type?: string; id?: string; text?: string; thinking?: string; name?: string; arguments?: unknown }

interface Entry {
  type: string
  summary?: string
  firstKeptEntryIndex?: number
  message?: {
    role: string
    content?: string | Block[]
    command?: string
    output?: string
    toolCallId?: string
    toolName?: string
    isError?: boolean
    model?: string
    usage?: { input: number; output: number; cacheRead: number; cacheWrite: number }
  }
}

/** @param count tokens of a text, by the estimator to be measured */
export function recordedCalls(file: string, count: (text: string) => number): RecordedCall[] {
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  const entries = lines.map(line => JSON.parse(line) as Entry)
  const sizes = entries.map(entry => texts(entry).reduce((sum, text) => sum + count(text), 0))
  const calls: RecordedCall[] = []
  let estimated = 0
  let previous: Measured | undefined
  for (const [index, entry] of entries.entries()) {
    if (entry.type === 'compaction') {
      const keptSizes = sizes.slice(entry.firstKeptEntryIndex, index)
      estimated = keptSizes.reduce((sum, size) => sum + size, count(entry.summary ?? ''))
      previous = undefined
      continue
    }
    const usage = entry.message?.usage
    const actual = usage ? usage.input + usage.cacheRead + usage.cacheWrite : 0
    if (usage && actual > 0) {
      calls.push({ model: entry.message?.model ?? '', estimated, actual, ...(previous && { previous }) })
      previous = { estimated: estimated + sizes[index]!, actual: actual + usage.output }
    }
    estimated += sizes[index]!
  }
  return calls
}

function texts({ message }: Entry): string[] {
  if (!message) return []
  if (message.role === 'bashExecution') return [`${message.command}\n${message.output}`]
  if (typeof message.content === 'string') return [message.content]
  return (message.content ?? []).map(
    block => block.text ?? block.thinking ?? `${block.name} ${JSON.stringify(block.arguments)}`,
  )
}

export interface RecordedSession {
  messages: MessageInput[]
  compactions: Array<{
    /** Number of messages before it. */
    after: number
    /** Number of messages that the summary covers. */
    covers: number
    summary: string
  }>
}

/** The session as messages to say, and the summaries that its own program took of it. */
export function recordedMessages(text: string): RecordedSession {
  const messages: MessageInput[] = []
  const compactions: RecordedSession['compactions'] = []
  /** Number of messages before each entry. */
  const before: number[] = []
  for (const line of text.trim().split('\n')) {
    const entry = JSON.parse(line) as Entry
    before.push(messages.length)
    if (entry.type === 'compaction') {
      const covers = before[entry.firstKeptEntryIndex ?? 0] ?? 0
      compactions.push({ after: messages.length, covers, summary: entry.summary ?? '' })
    }
    const message = entry.message && messageIn(entry.message)
    if (message) messages.push(message)
  }
  return { messages, compactions }
}

function messageIn(recorded: NonNullable<Entry['message']>): MessageInput | undefined {
  const { role, content, command, output, toolCallId, toolName, isError } = recorded
  const blocks: Block[] = typeof content === 'string' ? [{ text: content }] : (content ?? [])
  const texts = blocks.flatMap(block => block.text ?? []).join('\n')
  if (role === 'bashExecution') return { role: 'user', author: 'shell', content: `$ ${command}\n${output}` }
  if (role === 'user') return texts === '' ? undefined : { role: 'user', content: texts }
  if (role === 'toolResult') {
    const part: Part = {
      type: 'tool-result',
      callId: toolCallId ?? '',
      ...(toolName && { name: toolName }),
      output: texts,
      ...(isError && { isError }),
    }
    return { role: 'user', author: 'tools', parts: [part] }
  }
  const parts = blocks.flatMap((block): Part[] => {
    if (block.thinking) return [{ type: 'reasoning', text: block.thinking }]
    if (block.name && block.id)
      return [{ type: 'tool-call', callId: block.id, name: block.name, input: block.arguments ?? {} }]
    return block.text ? [{ type: 'text', text: block.text }] : []
  })
  return parts.length > 0 ? { role: 'assistant', parts } : undefined
}
