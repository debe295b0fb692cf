/**
 * Orders records that name their parent (Claude Code, pi): returns the line that leads to the newest. Pure. Abandoned
 * attempts, sub-agents and replaced records stay out.
 */
import { type Entry, isFields, textIn } from './entries.ts'

interface Thread {
  entries: readonly Entry[]
  /** Number of records with text on other lines. */
  aside: number
}

/** Undefined when the entries name no parents. */
export function threadOf(list: readonly Entry[]): Thread | undefined {
  const named = list.flatMap(entry => {
    const id = idOf(entry)
    return id === undefined ? [] : [[id, entry] as const]
  })
  if (!named.some(([, { fields }]) => fields.parentUuid !== undefined || fields.parentId !== undefined))
    return undefined
  // A record written twice counts with its later content, in its first position.
  const records = new Map(named)
  const order = [...records.keys()]
  const isMain = (id: string) => {
    const { isSidechain, isMeta } = records.get(id)!.fields
    return isSidechain !== true && isMeta !== true
  }
  const main = order.some(isMain) ? order.filter(isMain) : order
  const before = new Map(main.map((id, index) => [id, main[index - 1]]))
  const line: Entry[] = []
  const seen = new Set<string>()
  let at = main.findLast(id => isTalk(records.get(id)!)) ?? main.at(-1)
  while (at !== undefined && !seen.has(at)) {
    seen.add(at)
    const entry = records.get(at)!
    line.unshift(entry)
    const { fields } = entry
    const parent = textIn(fields, 'parentUuid', 'parentId', 'logicalParentUuid')
    // A restarted line continues from the record before it.
    at = parent !== undefined && records.has(parent) ? parent : before.get(at)
  }
  const aside = [...records].filter(([id, entry]) => !seen.has(id) && isTalk(entry)).length
  return { entries: joined(line), aside }
}

function idOf({ fields }: Entry): string | undefined {
  return textIn(fields, 'uuid') ?? (fields.parentId === undefined ? undefined : textIn(fields, 'id'))
}

function isTalk({ fields }: Entry): boolean {
  return isFields(fields.message)
}

/** Answers are written one block at a time: records with the same id are one message. */
function joined(line: readonly Entry[]): Entry[] {
  const found: Entry[] = []
  for (const entry of line) {
    const [last, next] = [answerIn(found.at(-1)), answerIn(entry)]
    if (last === undefined || next === undefined || last.id !== next.id) {
      found.push(entry)
      continue
    }
    const whole = found.pop()!
    const message = { ...(whole.fields.message as object), content: [...last.content, ...next.content] }
    found.push({ place: whole.place, fields: { ...whole.fields, message } })
  }
  return found
}

function answerIn(entry: Entry | undefined): { id: string; content: readonly unknown[] } | undefined {
  const message = entry?.fields.message
  if (!isFields(message) || message.role !== 'assistant' || !Array.isArray(message.content)) return undefined
  const id = textIn(message, 'id')
  return id === undefined ? undefined : { id, content: message.content }
}
