/**
 * A checkpoint as it stands in a request: sections in a fixed order, empty ones left out, every item with its id and the
 * messages it came from, so that an agent can ask for what is behind it.
 *
 * The same checkpoint gives the same bytes. Text that spans lines is indented or fenced: it cannot pass for a heading.
 */
import type { CarriedState, Checkpoint, CheckpointItem, CheckpointSection, RalphLoop } from '../events/checkpoint.ts'
import { fence } from '../request/fence.ts'

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

export function renderCheckpoint(checkpoint: Checkpoint): string {
  const { number, from, upTo, messages, items, carried, ralphLoop } = checkpoint
  const title = `# Checkpoint ${number}: stands for messages ${from} to ${upTo} (${messages} in all)`
  const parts = [title, ...renderItems(items), ...renderCarried(carried)]
  if (ralphLoop) parts.push(renderRalphLoop(ralphLoop))
  return parts.join('\n\n')
}

/** One block per section that has something to show. What was resolved is over, and only the log still needs it. */
export function renderItems(items: readonly CheckpointItem[]): string[] {
  return sectionHeadings.flatMap(([section, heading]) => {
    const shown = items.filter(item => item.section === section && (!item.resolved || section === 'completed'))
    return shown.length > 0 ? [`## ${heading}\n${shown.map(renderItem).join('\n')}`] : []
  })
}

export function renderItem(item: CheckpointItem): string {
  const from = `(from ${renderVersions(item.sources)})`
  if (!/[\n\r\u2028\u2029]/.test(item.text)) return `- [${item.id}] ${item.text} ${from}`
  // Pinned text stays as it is to the byte, so it is fenced; other text may be indented.
  if (item.pinned) return `- [${item.id}] ${from}\n${fence(item.text, item.id, 'pinned')}`
  return `- [${item.id}] ${item.text.split(/\r\n|[\n\r\u2028\u2029]/).join('\n  ')} ${from}`
}

/** How many versions an item shows; `expand` gives the rest. */
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

/** What code took from the log itself, each as a section of its own. */
export function renderCarried({ openCalls, filesRead, filesChanged, userMessages }: CarriedState): string[] {
  const changed = new Set(filesChanged)
  const onlyRead = filesRead.filter(file => !changed.has(file))
  const sections: [string, string[]][] = [
    [
      'Tool calls without a result yet',
      openCalls.map(call => `- ${oneLine(call.name)} (call ${call.callId}, message ${call.version})`),
    ],
    ['Files changed', filesChanged.map(file => `- ${oneLine(file)}`)],
    ['Files read', onlyRead.map(file => `- ${oneLine(file)}`)],
    [
      'Newest user messages, word for word',
      userMessages.map(({ version, text }) => fence(text, `user message ${version}`, `message ${version}`)),
    ],
  ]
  return sections.flatMap(([heading, lines]) => (lines.length > 0 ? [`## ${heading}\n${lines.join('\n')}`] : []))
}

export function renderRalphLoop({ currentIteration, passedChecks, failedChecks, lastError }: RalphLoop): string {
  const lines = [`- iteration ${currentIteration}`]
  if (passedChecks.length > 0) lines.push(`- passed: ${oneLine(passedChecks.join(', '))}`)
  if (failedChecks.length > 0) lines.push(`- failed: ${oneLine(failedChecks.join(', '))}`)
  const block = `## Ralph loop\n${lines.join('\n')}`
  return lastError ? `${block}\n${fence(lastError, 'ralph loop', 'last error')}` : block
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}
