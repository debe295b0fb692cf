/** A session as one JSON file that is rewritten for each message. */
import { writeFile } from 'node:fs/promises'

export function jsonFile(path: string, history: readonly string[]) {
  const entry = (content: string, index: number) => ({
    id: `msg-${index}`,
    role: 'user',
    content,
    timestamp: new Date().toISOString(),
    metadata: { agentType: 'dev', featureId: 'history' },
  })
  const session = { id: 'session-1', agentType: 'dev', messages: history.map(entry) }
  return {
    add(content: string): Promise<void> {
      session.messages.push(entry(content, session.messages.length))
      return writeFile(path, JSON.stringify(session))
    },
  }
}
