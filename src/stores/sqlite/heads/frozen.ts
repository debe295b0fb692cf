/** Freezes a value and all that is in it: cached heads are handed out many times, and no caller may change them. */
export function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const field of Object.values(value)) frozen(field)
  return value
}
