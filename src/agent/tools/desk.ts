/** What tools may ask of the rest of the product. Whoever runs an agent hands it in. */
import type { QuestionKind } from '../../events/question.ts'
import type { Message } from '../../views/message.ts'

export interface ToolDesk {
  /** Records that the agent read a file; gives its path as it is kept. @throws {PathRefused} */
  recordRead(path: string): Promise<string>
  mayWrite(
    path: string,
  ): Promise<{ may: true; path: string; absolutePath: string } | { may: false; path: string; reason: string }>
  /** Messages of the agent's conversation that have these words. */
  recall(text: string, limit: number): Promise<ReadonlyArray<{ version: number; author: string; snippet: string }>>
  /** The messages behind an item of a checkpoint. */
  expand(item: string): Promise<readonly Message[]>
  message(version: number): Promise<Message | undefined>
  /** Keeps a message, or a text, word for word. Gives the message's version. */
  pin(what: { version: number } | { text: string }): Promise<number>
  delegate(to: string, task: string, signal: AbortSignal): Promise<{ outcome: string; result: string }>
  ask(
    callId: string,
    question: {
      kind: QuestionKind
      text: string
      choices?: readonly string[]
      default?: string
      withinMs: number
    },
    signal: AbortSignal,
  ): Promise<{ answer: string; timedOut: boolean }>
}
