/** Takes in JSON from callers: a plain copy, or a clear word about what is not JSON. */
import { InvalidInput } from '../../errors.ts'

const deepestJson = 100

/** A copy that reads back the same after it was stored. Deeper than 100 levels, or not JSON, is refused. */
export function jsonCopy(value: unknown, field: string, depth = 0): unknown {
  if (depth > deepestJson) throw new InvalidInput(field, `must not be nested deeper than ${deepestJson} levels`)
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
      refuseOtherThanFields(value, field)
      return objectCopy(value, field, depth)
    default:
      throw new InvalidInput(field, `must be JSON, and a ${typeof value} is not`)
  }
}

/** What a Map, an Error or bytes hold is not in their fields: nothing, or something else, would be stored of them. */
function refuseOtherThanFields(value: object, field: string): void {
  const kind = Object.prototype.toString.call(value).slice(8, -1)
  const isOfFields = kind === 'Object' || (!builtIn.has(kind) && !ArrayBuffer.isView(value))
  if (!isOfFields) throw new InvalidInput(field, `must be JSON, and ${kind} is not: say what of it is to be stored`)
}

/** Their tags. A class of the caller's own may have any other. */
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
