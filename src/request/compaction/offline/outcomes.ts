/** The story of the turns: requests, their outcomes, and the work that was still open. */
import type { CheckpointItem } from '../../../log/events/checkpoint.ts'
import type { Message } from '../../../log/views/message.ts'
import { filesIn } from '../tool-files.ts'
import type { Candidate } from './candidate.ts'
import type { Mentions } from './mentions.ts'
import { clipped, gist, joined, type Sentence, sentencesOf } from './prose.ts'
import type { Said } from './statements.ts'
import type { Turn } from './turns.ts'

export function goalOf(turns: readonly Turn[], open: readonly CheckpointItem[]): Candidate[] {
  const first =
    turns.find(turn => turn.request && turn.request.content.trim().length >= 24)?.request ??
    turns.find(turn => turn.request)?.request
  if (!first || open.some(item => item.section === 'goal')) return []
  return [{ section: 'goal', text: gist(first.content, 420), sources: [first.version], rank: 1 }]
}

/** A turn that ended in tool calls, or in nothing at all, goes on after the range. So does one that was cut inside. */
function isUnfinished(turn: Turn): boolean {
  if (turn.isCut) return true
  const last = turn.work.at(-1)
  return last?.role !== 'assistant' || last.parts.some(part => part.type === 'tool-call')
}

export function inProgressOf(turns: readonly Turn[]): Candidate[] {
  const last = turns.at(-1)
  if (!last || !isUnfinished(last)) return []
  const statement = last.work.findLast(message => message.role === 'assistant' && message.content.trim() !== '')
  const asked = last.request && `“${gist(last.request.content, 200)}”`
  const doing = statement && gist(statement.content, 160)
  if (!asked && !doing) return []
  const text = asked && doing ? `${asked}: ${doing}` : (asked ?? doing)!
  const sources = [last.request?.version, statement?.version].filter(version => version !== undefined)
  return [{ section: 'inProgress', text, sources, rank: 1 }]
}

export const achieved =
  /^(?:(?:all )?done|fixed|implemented|created|added|removed|moved|renamed|updated|committed|replaced|wrote|refactored|merged|finished|completed|deleted|extracted|(?:everything|all|it|that|this) (?:now )?(?:works?|passes|passed|compiles|is))\b|\b(?:works now|is (?:now )?(?:complete|done|fixed)|(?:is|are|was|were|been) (?:created|added|removed|moved|fixed|implemented|committed))\b/i

/** Requests and their outcomes, turn by turn, with commits and ticked lines, which are achievements by name. */
export function completedOf(input: {
  turns: readonly Turn[]
  mentions: Mentions
  said: readonly Said[]
  room: number
}): Candidate[] {
  const { turns, mentions, said, room } = input
  const found: Candidate[] = []
  // Four characters are a token, and a request is about half of its line.
  const characters = Math.min(320, Math.max(110, (room * 2) / Math.max(1, turns.length)))
  turns.forEach((turn, at) => {
    const candidate = at === turns.length - 1 && isUnfinished(turn) ? undefined : outcomeOf(turn, characters)
    if (candidate) found.push({ ...candidate, rank: candidate.rank + at / turns.length })
  })
  for (const { message, version } of mentions.commits) {
    found.push({ section: 'completed', text: `Committed: ${clipped(message, 160)}`, sources: [version], rank: 2 })
  }
  for (const { text, version, role, ticked, under, age } of said) {
    if (role !== 'assistant' || text.length < 8 || !(ticked || (under && doneLabel.test(under)))) continue
    if (found.some(other => other.sources.includes(version) && other.text.includes(text))) continue
    found.push({ section: 'completed', text: clipped(text, 160), sources: [version], rank: age })
  }
  return found
}

const doneLabel =
  /^(?:(?:completed|done|finished|implemented|fixed)(?: (?:so far|items|work|tasks))?|what (?:was|i|we|has been) (?:did|done|changed)|(?:summary of )?changes(?: made)?):?$/

function outcomeOf({ request, work }: Turn, characters: number): Candidate | undefined {
  if (!request) return undefined
  const answers = work.filter(message => message.role === 'assistant' && message.content.trim() !== '')
  const { outcome, version = work.at(-1)?.version } = outcomeIn(answers, Math.min(200, characters)) ?? {}
  const changed = new Set<string>()
  let calls = 0
  for (const { parts } of work) {
    for (const part of parts) {
      if (part.type !== 'tool-call') continue
      calls++
      for (const file of filesIn(part).changed) changed.add(file.slice(file.lastIndexOf('/') + 1))
    }
  }
  // "ok", "wow": small talk that nothing came of.
  if (calls === 0 && request.content.trim().length < 24) return undefined
  const names = [...changed]
  const touched =
    names.length > 0
      ? ` (changed ${names.slice(0, 6).join(', ')}${names.length > 6 ? ` and ${names.length - 6} more` : ''})`
      : ''
  const result = outcome ? ` → ${outcome}` : ''
  return {
    section: 'completed',
    text: `“${gist(request.content, characters)}”${result}${touched}`,
    sources: [request.version, version].filter(version => version !== undefined),
    rank: (changed.size > 0 ? 3 : 1) + Math.min(1, calls / 10),
  }
}

const announcement =
  /^(?:(?:now|ok|okay|good|great|perfect|excellent|alright)\b[,.! ]*)*(?:let me|let's|i'll|i will|i see|i need|i should|now (?:i|update|let|add|the))\b/i

/** The newest statement that something was achieved, and what follows it; else how the last answer begins. */
function outcomeIn(answers: readonly Message[], characters: number): { outcome: string; version: number } | undefined {
  for (const { content, version } of answers.slice(-6).reverse()) {
    const sentences = sentencesOf(content)
    const at = sentences.findIndex(({ text, ticked }) => (ticked || achieved.test(text)) && !announcement.test(text))
    if (at >= 0) return { outcome: joined(sentences.slice(at).filter(isStatement), characters), version }
  }
  for (const { content, version } of answers.toReversed()) {
    const whole = sentencesOf(content).filter(
      ({ under, text }) => !under && !/[?:]$/.test(text) && !announcement.test(text),
    )
    const outcome = joined(whole, characters)
    if (outcome.length > 8) return { outcome, version }
  }
  return undefined
}

/** Agents end with a question of courtesy; it is no outcome. */
function isStatement({ text }: Sentence): boolean {
  return !text.endsWith('?')
}
