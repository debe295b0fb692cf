/** Messages that are handed out more than once. */
import type { Message } from '../views/message.ts'

/** What goes into requests by reference, and so to whoever sends them, cannot be changed there for the next one. */
export function freezeInputs({ parts }: Message): void {
  for (const part of parts) if (part.type === 'tool-call') freeze(part.input)
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  Object.freeze(value)
  for (const inner of Object.values(value)) freeze(inner)
}
