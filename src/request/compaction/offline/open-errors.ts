/** Errors that were still there at the end. */
import type { Message } from '../../../log/views/message.ts'
import type { Candidate } from './candidate.ts'
import { clipped, sentencesOf } from './prose.ts'

/** Errors of the last stretch after which the same tool did not succeed again. */
export function blockersOf(messages: readonly Message[]): Candidate[] {
  const names = new Map<string, string>()
  const failed = new Map<string, Candidate>()
  messages.forEach(({ parts, version, content, role, missing }, at) => {
    if (missing) return
    const isRecent = at >= Math.min(messages.length * 0.75, messages.length - 10)
    for (const part of parts) {
      if (part.type === 'tool-call') names.set(part.callId, part.name)
      if (part.type !== 'tool-result') continue
      const name = part.name ?? names.get(part.callId) ?? 'a tool'
      failed.delete(name)
      if (!part.isError || !isRecent) continue
      const output = typeof part.output === 'string' ? part.output : (JSON.stringify(part.output) ?? '')
      const text = `${name} failed: ${clipped(firstWords(output), 200)}`
      failed.set(name, { section: 'blockers', text, sources: [version], rank: 2 })
    }
    if (role !== 'assistant' || !isRecent) return
    const stuck = sentencesOf(content).find(({ text }) =>
      /\b(?:blocked (?:by|on)|cannot proceed|can'?t proceed|stuck (?:on|at)|waiting for|unable to)\b/i.test(text),
    )
    if (stuck)
      failed.set(`said ${version}`, {
        section: 'blockers',
        text: clipped(stuck.text, 200),
        sources: [version],
        rank: 1,
      })
  })
  return [...failed.values()].slice(-5)
}

function firstWords(output: string): string {
  return (
    output
      .slice(0, 2_000)
      .split('\n')
      .find(line => line.length < 300 && /\berror|fail|denied|not found/i.test(line)) ?? output.slice(0, 400)
  )
}
