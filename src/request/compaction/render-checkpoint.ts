/**
 * A checkpoint as it stands in a request: sections in a fixed order, empty ones left out, every item with its id and the
 * messages it came from, so that an agent can ask for what is behind it.
 *
 * The same checkpoint gives the same bytes. Text that spans lines is indented or fenced: it cannot pass for a heading.
 */
import type { Checkpoint, CheckpointItem, CheckpointSection } from '../../log/events/checkpoint.ts'
import { fence } from '../text/quote-untrusted.ts'
import { commonSections } from './carried-sections.ts'
import { type ComputedSections, renderCarried } from './computed-sections.ts'

/** In the order they are read: what it is about, what binds, where it stands, what is known. */
export const sectionHeadings: readonly (readonly [CheckpointSection, string])[] = [
  ['goal', 'Goal'],
  ['constraints', 'Constraints'],
  ['decisions', 'Decisions'],
  ['completed', 'Completed'],
  ['inProgress', 'In progress'],
  ['pending', 'Pending'],
  ['blockers', 'Blockers'],
  ['deadEnds', 'Dead ends'],
  ['facts', 'Facts'],
]

export function renderCheckpoint(checkpoint: Checkpoint, computed: ComputedSections = commonSections): string {
  const { number, from, upTo, messages, items, carried } = checkpoint
  const title = `# Checkpoint ${number}: stands for messages ${from} to ${upTo} (${messages} in all)`
  return [title, ...renderItems(items), ...renderCarried(computed.carried, carried)].join('\n\n')
}

/** One block per section that has something to show. What was resolved is over, and only the log still needs it. */
export function renderItems(items: readonly CheckpointItem[]): string[] {
  return sectionHeadings.flatMap(([section, heading]) => {
    const shown = items.filter(item => item.section === section && (!item.resolved || section === 'completed'))
    return shown.length > 0 ? [`## ${heading}\n${shown.map(renderItem).join('\n')}`] : []
  })
}

/** Whatever some reader takes for the end of a line. */
const lineBreak = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/

export function renderItem(item: CheckpointItem): string {
  const from = `(from ${renderVersions(item.sources)})`
  if (!lineBreak.test(item.text)) return `- [${item.id}] ${item.text} ${from}`
  // Pinned text stays as it is to the byte, so it is fenced; other text may be indented.
  if (item.pinned) return `- [${item.id}] ${from}\n${fence(item.text, item.id, 'pinned')}`
  return `- [${item.id}] ${item.text.split(lineBreak).join('\n  ')} ${from}`
}

/** Max versions that an item shows. `expand` gives the others. */
const shownVersions = 8

/** `3, 5-9, 12`: neighbours as a range, and of very many the first and the newest. */
export function renderVersions(versions: readonly number[]): string {
  const ranges: string[] = []
  for (let start = 0; start < versions.length; ) {
    let end = start
    while (versions[end + 1] === versions[end]! + 1) end++
    ranges.push(end === start ? `${versions[start]}` : `${versions[start]}-${versions[end]}`)
    start = end + 1
  }
  if (ranges.length <= shownVersions) return ranges.join(', ')
  return `${ranges[0]}, … ${ranges.slice(1 - shownVersions).join(', ')}`
}
