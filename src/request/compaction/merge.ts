/**
 * The items of the next checkpoint: those of the last one, changed as a delta says, as far as the rules allow.
 *
 * A model proposes, this code decides. Nothing is resolved or moved without a message of the summarised range that shows
 * it; what a person laid down (constraints, pinned items) is never moved, reworded or trimmed, and a constraint ends only
 * with a message of a person that lifts it; whatever is
 * refused is reported with its reason.
 */
import type { CheckpointItem } from '../../log/events/checkpoint.ts'
import { fastEstimator, type TokenEstimator } from '../text/tokens.ts'
import type { CheckpointDelta } from './delta.ts'
import { renderItem } from './render-checkpoint.ts'

export interface MergeInput {
  /** Items of the last checkpoint. Empty for the first. */
  items: readonly CheckpointItem[]
  delta: CheckpointDelta
  /** Versions of the summarised messages, ascending. The only valid sources. */
  versions: readonly number[]
  /** Those of them that a person said: the only ones that can lift a constraint. Default: none. */
  personVersions?: readonly number[]
  /** Number of the checkpoint in the making. */
  number: number
  newId: () => string
  /** The most that all items may take together, resolved ones included, each as it is rendered. Default: no cap. */
  maxTokens?: number
  estimator?: TokenEstimator
}

type Entry<Operation extends keyof CheckpointDelta> = NonNullable<CheckpointDelta[Operation]>[number]

interface MergeChanges {
  added: CheckpointItem[]
  resolved: CheckpointItem[]
  moved: CheckpointItem[]
  rewritten: CheckpointItem[]
  /** Resolved once, and said again. */
  reopened: CheckpointItem[]
  /** Said again: only its sources grew. */
  repeated: CheckpointItem[]
  refused: { what: string; why: string }[]
}

interface MergeResult {
  items: CheckpointItem[]
  changes: MergeChanges
  /** Left out to stay under the cap, in the order they went. */
  trimmed: CheckpointItem[]
  /** False when the delta adds nothing to what was known: the last checkpoint should stand. */
  changed: boolean
}

export function mergeDelta(input: MergeInput): MergeResult {
  const { delta, maxTokens, estimator = fastEstimator } = input
  const draft = new Draft(input)
  for (const entry of delta.rewrite ?? []) draft.rewrite(entry)
  for (const entry of delta.move ?? []) draft.move(entry)
  for (const entry of delta.resolve ?? []) draft.resolve(entry)
  for (const entry of delta.add ?? []) draft.add(entry)
  const { changes } = draft
  const { kept, trimmed } = trimmedTo(draft.items, maxTokens ?? Number.POSITIVE_INFINITY, estimator)
  const { added, resolved, moved, rewritten, reopened } = changes
  const changed = added.length + resolved.length + moved.length + rewritten.length + reopened.length > 0
  return { items: kept, changes, trimmed, changed }
}

/** A person's word that still holds: neither a model nor a cap may touch it. */
export function isProtected(item: CheckpointItem): boolean {
  return item.pinned === true || (item.section === 'constraints' && !item.resolved)
}

/** Texts that mean the same to a reader who does not mind case, spacing and a full stop. */
export function normalised(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\s`*_"'“”‘’]+/g, ' ')
    .trim()
    .replace(/[ .;:,!]+$/, '')
}

class Draft {
  readonly items: CheckpointItem[] = []
  readonly changes: MergeChanges = {
    added: [],
    resolved: [],
    moved: [],
    rewritten: [],
    reopened: [],
    repeated: [],
    refused: [],
  }
  private readonly places = new Map<string, number>()
  private readonly said = new Map<string, string>()
  private readonly versions: Set<number>
  private readonly personVersions: Set<number>
  private readonly lastVersion: number
  private readonly number: number
  private readonly newId: () => string

  constructor({ items, versions, personVersions = [], number, newId }: MergeInput) {
    for (const item of items) this.append(item)
    this.versions = new Set(versions)
    this.personVersions = new Set(personVersions)
    this.lastVersion = versions.at(-1) ?? 1
    this.number = number
    this.newId = newId
  }

  rewrite({ id, text, sources }: Entry<'rewrite'>): void {
    const item = this.changeable(id, 'rewrite')
    if (!item) return
    if (item.text === text) return
    const same = this.said.get(sayingOf(item.section, text))
    if (same !== undefined && same !== id) {
      this.refuse('rewrite', id, `item ${same} says the same`)
      return
    }
    const rewritten = { ...item, text, sources: united(item.sources, this.evidence(sources, 'or the last')) }
    this.replace(rewritten)
    this.changes.rewritten.push(rewritten)
  }

  move({ id, to, sources }: Entry<'move'>): void {
    const item = this.changeable(id, 'move')
    if (!item || item.section === to) return
    const evidence = this.evidence(sources)
    if (evidence.length === 0) {
      this.refuse('move', id, 'no message of the summarised range shows it')
      return
    }
    const same = this.itemSaying(to, item.text)
    if (same && !same.resolved) {
      // It stands there already: this one is over, and that one gets its evidence.
      this.replace({ ...same, sources: united(same.sources, evidence) })
      this.settle(item, evidence)
      return
    }
    const moved = { ...item, section: to, sources: united(item.sources, evidence) }
    this.replace(moved)
    this.changes.moved.push(moved)
  }

  resolve({ id, sources }: Entry<'resolve'>): void {
    const evidence = this.evidence(sources)
    const isLifted = evidence.some(version => this.personVersions.has(version))
    const item = this.changeable(id, 'resolve', { isLifted })
    if (!item) return
    if (evidence.length === 0) this.refuse('resolve', id, 'no message of the summarised range shows it')
    else this.settle(item, evidence)
  }

  add({ section, text, sources, pinned }: Entry<'add'>): void {
    const evidence = this.evidence(sources ?? [], 'or the last')
    const same = this.itemSaying(section, text)
    if (!same) {
      const item: CheckpointItem = {
        id: this.freshId(),
        section,
        text,
        sources: evidence,
        since: this.number,
        ...(pinned && { pinned }),
      }
      this.append(item)
      this.changes.added.push(item)
      return
    }
    const { resolved, ...open } = same
    const repeated = { ...open, sources: united(same.sources, evidence), ...(pinned && { pinned }) }
    this.replace(repeated)
    if (resolved) this.changes.reopened.push(repeated)
    else this.changes.repeated.push(repeated)
  }

  private settle(item: CheckpointItem, evidence: number[]): void {
    const resolved = { ...item, resolved: { in: this.number, sources: evidence } }
    this.replace(resolved)
    this.changes.resolved.push(resolved)
  }

  private changeable(id: string, verb: string, { isLifted = false } = {}): CheckpointItem | undefined {
    const place = this.places.get(id)
    const item = place === undefined ? undefined : this.items[place]
    if (!item) this.refuse(verb, id, 'there is no such item')
    else if (item.pinned) this.refuse(verb, id, 'it is pinned')
    else if (item.section === 'constraints' && !isLifted) this.refuse(verb, id, 'it is a constraint')
    else if (item.resolved) this.refuse(verb, id, `it was resolved in checkpoint ${item.resolved.in}`)
    else return item
    return undefined
  }

  private refuse(verb: string, id: string, why: string): void {
    this.changes.refused.push({ what: `${verb} ${id.slice(0, 80)}`, why })
  }

  /** The given versions that lie in the range, ascending; where one is needed, the last of the range stands in. */
  private evidence(sources: readonly number[], otherwise?: 'or the last'): number[] {
    const found = united(sources.filter(version => this.versions.has(version)))
    return found.length === 0 && otherwise ? [this.lastVersion] : found
  }

  private itemSaying(section: CheckpointItem['section'], text: string): CheckpointItem | undefined {
    const id = this.said.get(sayingOf(section, text))
    return id === undefined ? undefined : this.items[this.places.get(id)!]
  }

  private append(item: CheckpointItem): void {
    this.places.set(item.id, this.items.length)
    this.items.push(item)
    const saying = sayingOf(item.section, item.text)
    if (!this.said.has(saying)) this.said.set(saying, item.id)
  }

  private replace(item: CheckpointItem): void {
    const place = this.places.get(item.id)!
    const before = this.items[place]!
    const oldSaying = sayingOf(before.section, before.text)
    if (this.said.get(oldSaying) === item.id) this.said.delete(oldSaying)
    this.items[place] = item
    const saying = sayingOf(item.section, item.text)
    if (!this.said.has(saying)) this.said.set(saying, item.id)
  }

  /** An id nobody has, even from a maker of ids that repeats itself. */
  private freshId(): string {
    const id = this.newId()
    if (!this.places.has(id)) return id
    for (let count = 2; ; count++) if (!this.places.has(`${id}-${count}`)) return `${id}-${count}`
  }
}

function sayingOf(section: string, text: string): string {
  return `${section} ${normalised(text)}`
}

function united(...lists: readonly (readonly number[])[]): number[] {
  return [...new Set(lists.flat())].sort((a, b) => a - b)
}

/** Leaves out the oldest resolved items, then the oldest completed ones, then the oldest facts, until the rest fits. */
function trimmedTo(items: readonly CheckpointItem[], maxTokens: number, estimator: TokenEstimator) {
  if (maxTokens === Number.POSITIVE_INFINITY) return { kept: [...items], trimmed: [] }
  const sizes = new Map(items.map(item => [item, estimator.count(renderItem(item))]))
  let size = [...sizes.values()].reduce((sum, tokens) => sum + tokens, 0)
  const trimmed: CheckpointItem[] = []
  const gone = new Set<CheckpointItem>()
  for (const item of size > maxTokens ? inOrderOfTrimming(items) : []) {
    if (size <= maxTokens) break
    size -= sizes.get(item)!
    gone.add(item)
    trimmed.push(item)
  }
  return { kept: items.filter(item => !gone.has(item)), trimmed }
}

function inOrderOfTrimming(items: readonly CheckpointItem[]): CheckpointItem[] {
  const free = items.filter(item => !isProtected(item) && item.section !== 'goal')
  const resolved = free.filter(item => item.resolved).sort((a, b) => a.resolved!.in - b.resolved!.in || byAge(a, b))
  const open = free.filter(item => !item.resolved)
  const oldest = (section: CheckpointItem['section']) => open.filter(item => item.section === section).sort(byAge)
  return [...resolved, ...oldest('completed'), ...oldest('facts')]
}

/** By the newest message that speaks of it: a fact that is mentioned again is not old. */
function byAge(a: CheckpointItem, b: CheckpointItem): number {
  return a.sources.at(-1)! - b.sources.at(-1)! || a.since - b.since
}
