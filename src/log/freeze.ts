/** What is kept and handed out more than once: nobody may change it under the others. */
import type { Message } from './views/message.ts'

/** What goes into requests by reference, and so to whoever sends them, cannot be changed there for the next one. */
export function freezeInputs({ parts }: Message): void {
  for (const part of parts) if (part.type === 'tool-call') frozen(part.input)
}

/** The same value, which nobody can change any more, and all that is in it. What is frozen already is not looked into. */
export function frozen<T>(value: T): T {
  if (!isObject(value) || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const inner of Object.values(value)) frozen(inner)
  return value
}

/** A copy for somebody who may change it. */
export function ownCopy<T extends object>(value: T): T {
  return copied(value) as T
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
