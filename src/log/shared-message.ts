/** Messages that are handed out more than once. */
import type { Message } from '../views/message.ts'

/** What goes into requests by reference, and so to whoever sends them, cannot be changed there for the next one. */
export function freezeInputs({ parts }: Message): void {
  for (const part of parts) if (part.type === 'tool-call') freeze(part.input)
}

function freeze(value: unknown): void {
  if (!isObject(value)) return
  Object.freeze(value)
  for (const inner of Object.values(value)) freeze(inner)
}

/** A message for somebody who may change it. */
export function ownCopy(message: Message): Message {
  return copied(message) as Message
}

/** What comes from JSON is all there can be. A spread takes over a field called `__proto__` as a field. */
function copied(value: object): object {
  if (Array.isArray(value)) return value.map(inner => (isObject(inner) ? copied(inner) : inner))
  const copy: Record<string, unknown> = { ...value }
  for (const field in copy) {
    const inner = copy[field]
    if (isObject(inner)) copy[field] = copied(inner)
  }
  return copy
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
