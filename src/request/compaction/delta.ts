/**
 * The changes since the last checkpoint, as a model or the offline summariser gives them: items to add, resolve, move
 * and rewrite. Reading is lenient about wrapping and spelling, and strict about content. The merge decides which
 * changes are allowed.
 */
import { z } from 'zod'
import { CheckpointSection, checkpointSections } from '../../log/events/checkpoint.ts'
import { readLeniently } from './lenient-json.ts'

/** Versions of messages; a merge drops those outside the range that was summarised. */
const Sources = z.array(z.int().positive())
const Text = z.string().trim().min(1)
const ItemId = z.string().trim().min(1)

export const CheckpointDelta = z.strictObject({
  add: z
    .array(
      z.strictObject({
        section: CheckpointSection,
        text: Text,
        sources: Sources.optional(),
        pinned: z.boolean().optional(),
      }),
    )
    .optional(),
  /** No longer true, or no longer to be done; `sources` are the messages that show it. */
  resolve: z.array(z.strictObject({ id: ItemId, sources: Sources })).optional(),
  move: z.array(z.strictObject({ id: ItemId, to: CheckpointSection, sources: Sources })).optional(),
  rewrite: z.array(z.strictObject({ id: ItemId, text: Text, sources: Sources })).optional(),
})
export type CheckpointDelta = z.infer<typeof CheckpointDelta>

type DeltaReading = { delta: CheckpointDelta; dropped: string[] } | { problem: string }

/**
 * Reads the delta in a model's reply, or the problem with it. `dropped` names unusable entries of an otherwise good
 * reply: a reply that was cut off has one at its end.
 *
 * A whole summary in the shape of dagent becomes additions. The merge drops those that exist already.
 */
export function readDelta(text: string): DeltaReading {
  const read = readLeniently(text, looksLikeDelta)
  if (!read || !isRecord(read.value)) return { problem: 'the reply holds no JSON object' }
  if (!looksLikeDelta(read.value)) {
    return { problem: `the reply is neither a delta nor a summary: its keys are ${keysOf(read.value)}` }
  }
  const entries = entriesOf(read.value)
  // The keys stand in the order they were read, so the last one is what was cut; a remark of the model's may be.
  const isCut = read.cutOff && isKnown(Object.keys(read.value).at(-1) ?? '')
  if (isCut) entries.pop()
  const usable: Partial<Record<Operation, unknown[]>> = {}
  const dropped: string[] = isCut ? ['the last entry: the reply was cut off in it'] : []
  for (const { operation, value } of entries) {
    const checked = CheckpointDelta.safeParse({ [operation]: [value] })
    if (checked.success) {
      usable[operation] ??= []
      usable[operation].push(value)
    } else dropped.push(`${operation} ${shortened(value)}: ${problemIn(checked.error)}`)
  }
  const delta = CheckpointDelta.parse(usable)
  if (dropped.length > 0 && Object.keys(delta).length === 0) return { problem: dropped[0]! }
  return { delta, dropped }
}

type Operation = keyof CheckpointDelta

const operationNames = new Map<string, Operation>(
  Object.entries({
    add: 'add',
    added: 'add',
    additions: 'add',
    resolve: 'resolve',
    resolved: 'resolve',
    move: 'move',
    moved: 'move',
    rewrite: 'rewrite',
    rewritten: 'rewrite',
    update: 'rewrite',
  }),
)

/** Spellings of the sections by models, dagent, Loom and TENEX, letters only. */
const sectionNames = new Map<string, CheckpointSection>(
  Object.entries({
    ...Object.fromEntries(checkpointSections.map(section => [section.toLowerCase(), section])),
    goals: 'goal',
    constraint: 'constraints',
    complete: 'completed',
    done: 'completed',
    completeditems: 'completed',
    inprogressitems: 'inProgress',
    current: 'inProgress',
    todo: 'pending',
    todos: 'pending',
    nextsteps: 'pending',
    pendingitems: 'pending',
    decision: 'decisions',
    keydecisions: 'decisions',
    blocker: 'blockers',
    blocked: 'blockers',
    openissues: 'blockers',
    deadend: 'deadEnds',
    failures: 'deadEnds',
    fact: 'facts',
  }),
)

/** The section a name means, however it is spelt: `inProgress`, `in_progress`, `In progress`. */
function sectionNamed(name: unknown): CheckpointSection | undefined {
  return typeof name === 'string' ? sectionNames.get(lettersOf(name)) : undefined
}

function lettersOf(name: string): string {
  return name
    .slice(0, 40)
    .toLowerCase()
    .replace(/[^a-z]/g, '')
}

function looksLikeDelta(value: unknown): boolean {
  if (!isRecord(value)) return false
  return Object.entries(value).some(
    ([key, inner]) =>
      (operationNames.get(lettersOf(key)) && (Array.isArray(inner) || isRecord(inner))) ||
      (sectionNames.get(lettersOf(key)) && Array.isArray(inner)),
  )
}

function isKnown(key: string): boolean {
  return operationNames.has(lettersOf(key)) || sectionNames.has(lettersOf(key))
}

interface Entry {
  operation: Operation
  value: unknown
}

function entriesOf(reply: Record<string, unknown>): Entry[] {
  const entries: Entry[] = []
  for (const [key, value] of Object.entries(reply)) {
    const operation = operationNames.get(lettersOf(key))
    if (operation) entries.push(...entriesOfOperation(operation, value))
    else if (sectionNames.get(lettersOf(key))) entries.push(...additionsTo(key, value))
  }
  return entries
}

function entriesOfOperation(operation: Operation, value: unknown): Entry[] {
  if (operation === 'add' && isRecord(value) && !('text' in value)) {
    // `{"add": {"pending": ["…"]}}`
    return Object.entries(value).flatMap(([section, items]) => additionsTo(section, items))
  }
  return listOf(value).map(entry => ({ operation, value: tidied(operation, entry) }))
}

function additionsTo(section: string, items: unknown): Entry[] {
  return listOf(items).map(item => ({
    operation: 'add',
    value: tidied('add', isRecord(item) ? { ...item, section } : { section, text: item }),
  }))
}

function listOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.filter(entry => entry !== null && entry !== '')
  return value === null || value === undefined ? [] : [value]
}

/** An entry with the names the schema wants; what it does not know is left out, as models add remarks. */
function tidied(operation: Operation, entry: unknown): unknown {
  if (operation === 'resolve' && typeof entry === 'string') return { id: plainId(entry), sources: [] }
  if (!isRecord(entry)) return entry
  const { section, text, content, item, description, id, to, sources, source, from, pinned } = entry
  const says = text ?? content ?? description ?? (typeof item === 'string' && id !== undefined ? item : undefined)
  const versions = sources ?? source ?? from
  const tidy = {
    add: {
      section: sectionNamed(section) ?? section,
      text: wellFormed(says ?? item),
      ...(versions !== undefined && { sources: versionsIn(versions) }),
      ...(pinned === true && { pinned }),
    },
    resolve: { id: plainId(id ?? item), sources: versionsIn(versions) },
    move: { id: plainId(id ?? item), to: sectionNamed(to ?? section) ?? to ?? section, sources: versionsIn(versions) },
    rewrite: { id: plainId(id), text: wellFormed(says), sources: versionsIn(versions) },
  }
  return tidy[operation]
}

/** `[k3f]`, as items are shown, means `k3f`. */
function plainId(id: unknown): unknown {
  return typeof id === 'string' ? id.trim().replace(/^\[(.*)\]$/, '$1') : id
}

/** A reply cut off in an escape leaves half a character, which a database would refuse. */
function wellFormed(text: unknown): unknown {
  return typeof text === 'string' ? text.toWellFormed().replaceAll('\0', '') : text
}

/** `[12, "15", "v16"]`, `12` and `"12, 15"` all name versions. */
function versionsIn(value: unknown): number[] {
  const found: number[] = []
  for (const one of listOf(value)) {
    if (typeof one === 'number') found.push(one)
    else if (typeof one === 'string')
      for (const digits of one.slice(0, 400).match(/\d{1,15}/g) ?? []) found.push(Number(digits))
  }
  return found.filter(version => Number.isSafeInteger(version) && version > 0)
}

function problemIn(error: z.ZodError): string {
  const [issue] = error.issues
  return issue ? `${issue.path.slice(2).join('.') || 'entry'}: ${issue.message}` : error.message
}

function shortened(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

function keysOf(value: Record<string, unknown>): string {
  const keys = Object.keys(value)
    .slice(0, 8)
    .map(key => key.slice(0, 40))
  return keys.length > 0 ? keys.join(', ') : 'none'
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
