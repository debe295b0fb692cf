/** Lists what providers would refuse in a request, as sentences. */
import type { RequestMessage, RequestPart } from 'colloquy'

export function problemsOf(messages: readonly RequestMessage[]): string[] {
  const problems: string[] = []
  if (messages[0]?.role !== 'user') problems.push('[P7] the first message is not a user’s')
  if (messages.at(-1)?.role !== 'user') problems.push('[P7] the last message is not a user’s')
  messages.forEach(({ role, content }, index) => {
    if (messages[index - 1]?.role === role) problems.push(`[P7] two ${role} messages in a row`)
    if (content.length === 0) problems.push('[P7] an empty message')
    if (content.some(part => part.type === 'text' && part.text === '')) problems.push('[P7] an empty text')
    const calls = idsIn(content, 'tool-call')
    const next = messages[index + 1]?.content ?? []
    const results = role === 'assistant' ? idsIn(next, 'tool-result') : []
    if (calls.join() !== results.join()) problems.push(`[P7] calls ${calls} answered by ${results}`)
    if (role === 'user' && idsIn(content, 'tool-result').length > 0 && messages[index - 1]?.role !== 'assistant')
      problems.push('[P7] results without calls')
    if (next.slice(0, calls.length).some(part => part.type !== 'tool-result'))
      problems.push('[P7] something stands between calls and their results')
  })
  return problems
}

function idsIn(content: readonly RequestPart[], type: 'tool-call' | 'tool-result'): string[] {
  return content.flatMap(part => (part.type === type ? [part.callId] : [])).sort()
}
