/** Answers of a provider's SDK as messages to record. */
import type { MessageInput } from '../../log/commands/message-input.ts'
import type { AnswerMessage } from '../../request/dialects/answer.ts'
import { isSubstituteName, toolNameFrom } from '../../request/dialects/wire-names.ts'

export function hasSubstituteNames(answers: readonly AnswerMessage[]): boolean {
  return answers.some(({ parts }) => parts.some(part => part.type === 'tool-call' && isSubstituteName(part.name)))
}

/** The names that the log has for tools, in place of those that the provider could take. */
export function withToolNames(answers: readonly AnswerMessage[], names: readonly string[]): AnswerMessage[] {
  return answers.map(answer => ({
    ...answer,
    parts: answer.parts.map(part =>
      'name' in part && part.name !== undefined && part.type !== 'file'
        ? { ...part, name: toolNameFrom(part.name, names) }
        : part,
    ),
  }))
}

/** A message of calls only is hidden from the chat, and so are results. */
export function messageFromAnswer({ role, parts, usage, model, stopReason }: AnswerMessage): MessageInput {
  if (role === 'tool') return { role: 'user', author: 'tools', parts, internal: true }
  const metadata = { ...(model !== undefined && { model }), ...(stopReason !== undefined && { stopReason }) }
  return {
    role: 'assistant',
    parts,
    ...(!parts.some(part => part.type === 'text') && { internal: true }),
    ...(usage && { usage }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
}
