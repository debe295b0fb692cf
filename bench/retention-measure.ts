/**
 * Finds what of a compacted range is still reachable: the names in it, and where each is found after the compaction.
 * Plain patterns define the names, not the code that summarises.
 */
import type { Colloquy, Message, Part } from 'colloquy'

export type Kind = 'file paths' | 'identifiers' | 'user instructions'

export interface Thing {
  kind: Kind
  text: string
}

export interface Reached {
  thing: Thing
  inCheckpoint: boolean
  byRecall: boolean
  byExpand: boolean
}

const pathPattern = /(?:[\w@.-]+\/)+[\w.-]+\.[a-z]{1,5}\b/g
const namePattern = /\b(?:[a-z]+[A-Z]\w{3,}|[A-Z][a-z]+[A-Z]\w{2,}|[a-z]+_[a-z]\w{2,})\b/g

/** The things named in messages: files that tools touched or people named, identifiers said twice, what people asked. */
export function thingsIn(messages: readonly Message[]): Thing[] {
  const paths = new Set<string>()
  const names = new Map<string, number>()
  const instructions = new Set<string>()
  for (const message of messages) {
    for (const part of message.parts) if (part.type === 'tool-call') for (const path of pathsOf(part)) paths.add(path)
    const { content, role } = message
    if (role === 'user') for (const [path] of content.matchAll(pathPattern)) paths.add(shortPath(path))
    for (const name of new Set([...content.matchAll(namePattern)].map(([name]) => name)))
      names.set(name, (names.get(name) ?? 0) + 1)
    if (isInstruction(message)) instructions.add(content)
  }
  const often = [...names].filter(([, times]) => times >= 2).map(([name]) => name)
  return [
    ...[...paths].map((text): Thing => ({ kind: 'file paths', text })),
    ...often.map((text): Thing => ({ kind: 'identifiers', text })),
    ...[...instructions].map((text): Thing => ({ kind: 'user instructions', text })),
  ]
}

function pathsOf({ input }: Extract<Part, { type: 'tool-call' }>): string[] {
  const path = (input as { path?: unknown } | null)?.path
  return typeof path === 'string' && /\.[a-z]{1,5}$/.test(path) ? [shortPath(path)] : []
}

/** The folder and the name: what stands before differs from mention to mention. */
function shortPath(path: string): string {
  return path.split('/').slice(-2).join('/')
}

function isInstruction({ role, author, internal, content }: Message): boolean {
  return role === 'user' && author === 'user' && !internal && content.trim().length > 12
}

/** A name when it stands there; an instruction when most of its longer words do: a summary may put it otherwise. */
export function isIn(text: string, thing: Thing): boolean {
  if (thing.kind !== 'user instructions') return text.includes(thing.text)
  const words = new Set(thing.text.toLowerCase().match(/\p{L}{5,}/gu) ?? [])
  const lower = text.toLowerCase()
  if (words.size === 0) return lower.includes(thing.text.toLowerCase().trim())
  let foundCount = 0
  for (const word of words) if (lower.includes(word)) foundCount++
  return foundCount >= words.size * 0.6
}

/** Finds each name in the checkpoint, in what recall quotes, or behind an item. */
export async function reach(colloquy: Colloquy, sessionId: string, things: readonly Thing[]): Promise<Reached[]> {
  const { sessions } = colloquy
  const checkpoint = await sessions.getCheckpoint(sessionId)
  if (!checkpoint) throw new Error('There is no checkpoint to look into.')
  const plain = await sessions.previewRequest(sessionId, 'And now?', { recall: false })
  const sent = checkpointText(plain.system)
  let behind = ''
  for (const { id } of checkpoint.items)
    for (const message of await sessions.expand(sessionId, id)) behind += `${JSON.stringify(message.parts)}\n`
  const reachedThings: Reached[] = []
  for (const thing of things) {
    const question = `What was it about ${thing.text.slice(0, 300)}?`
    const { systemPrompt } = await sessions.previewRequest(sessionId, question, { recall: true })
    const at = systemPrompt.lastIndexOf('# Earlier messages that may matter')
    reachedThings.push({
      thing,
      inCheckpoint: isIn(sent, thing),
      byRecall: at >= 0 && isIn(systemPrompt.slice(at), thing),
      byExpand: isIn(behind, thing),
    })
  }
  return reachedThings
}

function checkpointText(system: string): string {
  const at = system.indexOf('# Checkpoint ')
  return at < 0 ? '' : system.slice(at)
}
