/**
 * Entries of an imported file: one JSON document, or one JSON value per line. Pure. Each entry knows its position, for
 * error messages.
 */

export type Fields = Readonly<Record<string, unknown>>

export interface Entry {
  /** `line 3`, or `entry 3` of a list. */
  place: string
  fields: Fields
}

interface Entries {
  list: readonly Entry[]
  /** Title given in the document, if any. */
  title: string | undefined
  /** Positions of list items that are not objects. */
  odd: readonly string[]
}

/** @throws {SyntaxError} naming the line that is not JSON */
export function entriesOf(text: string): Entries {
  const plain = text.replace(/^\uFEFF/, '').trim()
  const whole = parsed(plain)
  if (whole === undefined) return listed(linesOf(plain), undefined)
  if (Array.isArray(whole))
    return listed(
      whole.map(value => ['entry', value]),
      undefined,
    )
  const fields = isFields(whole) ? whole : {}
  const list = [fields.messages, fields.entries, fields.history, fields.loglines].find(Array.isArray) as
    | unknown[]
    | undefined
  const info = isFields(fields.info) ? fields.info : {}
  const title = [fields.title, info.title, fields.name, fields.id].find(one => typeof one === 'string' && one !== '')
  return listed(list?.map(value => ['entry', value]) ?? [['line', whole]], title as string | undefined)
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function textIn(fields: Fields, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = fields[name]
    if (typeof value === 'string' && value !== '') return value
  }
  return undefined
}

/** Undefined when the text is not a single JSON document. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return undefined
  }
}

function linesOf(text: string): Array<readonly [place: string, value: unknown]> {
  return text.split('\n').map((line, index) => {
    if (line.trim() === '') return ['', undefined]
    try {
      return ['line', JSON.parse(line)]
    } catch {
      const isFirst = index === 0
      throw new SyntaxError(
        isFirst
          ? 'This is neither JSON nor lines of it: line 1 cannot be read. Nothing was brought along.'
          : `Line ${index + 1} is no JSON. Nothing was brought along.`,
      )
    }
  })
}

function listed(values: ReadonlyArray<readonly [place: string, value: unknown]>, title: string | undefined): Entries {
  const list: Entry[] = []
  const odd: string[] = []
  for (const [index, [kind, value]] of values.entries()) {
    if (kind === '') continue
    const place = `${kind} ${index + 1}`
    if (isFields(value)) list.push({ place, fields: value })
    else odd.push(place)
  }
  return { list, title, odd }
}
