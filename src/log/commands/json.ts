/** Copies JSON of callers, and refuses what is not JSON. */
import { InvalidInput } from '../../errors.ts'

const maxDepth = 100

/** Returns a copy that reads back the same after it was stored. */
export function jsonCopy(value: unknown, field: string, depth = 0): unknown {
  if (depth > maxDepth) throw new InvalidInput(field, `must not be nested deeper than ${maxDepth} levels`)
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      if (!Number.isFinite(value)) throw new InvalidInput(field, `must be JSON, and ${value} is not`)
      // Minus zero is written as zero.
      return value === 0 ? 0 : value
    case 'object':
      if (value === null) return null
      if (Array.isArray(value)) return Array.from(value, item => jsonCopy(item ?? null, field, depth + 1))
      if ('toJSON' in value && typeof value.toJSON === 'function') return jsonCopy(value.toJSON(), field, depth + 1)
      refuseOpaqueObject(value, field)
      return objectCopy(value, field, depth)
    default:
      throw new InvalidInput(field, `must be JSON, and a ${typeof value} is not`)
  }
}

/** A Map, an Error or bytes hold their content outside their fields, so it would be lost. */
function refuseOpaqueObject(value: object, field: string): void {
  const kind = Object.prototype.toString.call(value).slice(8, -1)
  const isPlain = kind === 'Object' || (!builtIn.has(kind) && !ArrayBuffer.isView(value))
  if (!isPlain) throw new InvalidInput(field, `must be JSON, and ${kind} is not: convert it first`)
}

/** Tags of built-in objects. A class of the caller has another one. */
const builtIn = new Set([
  ...['Error', 'DOMException', 'Map', 'Set', 'WeakMap', 'WeakSet', 'WeakRef', 'RegExp', 'Promise', 'Generator'],
  ...['Number', 'String', 'Boolean', 'Symbol', 'BigInt', 'ArrayBuffer', 'SharedArrayBuffer', 'Blob', 'File'],
])

function objectCopy(value: object, field: string, depth: number): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue
    // A plain assignment to this one key would set the copy's prototype instead.
    if (key === '__proto__')
      Object.defineProperty(copy, key, {
        value: jsonCopy(item, field, depth + 1),
        enumerable: true,
        configurable: true,
        writable: true,
      })
    else copy[key] = jsonCopy(item, field, depth + 1)
  }
  return copy
}
