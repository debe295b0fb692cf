/** Facts that list the names in messages: files by folder, identifiers, commands, addresses, versions. */
import type { CheckpointItem } from '../../../log/events/checkpoint.ts'
import type { Candidate } from './candidate.ts'
import type { Mention, Mentions } from './mentions.ts'
import { clipped } from './prose.ts'

const filesLabel = 'Files in '
const namesLabel = 'Names: '
const moreNamesLabel = 'More names: '
const commandsLabel = 'Commands: '
const addressesLabel = 'Addresses: '
const versionsLabel = 'Versions: '
const rootLabel = 'Project root: '
/** Max names of one fact. */
const mostListed = 40

/**
 * Groups names, so that a folder is written once. A group of the last checkpoint is written again with the old names
 * behind the new ones.
 */
export function factsOf(
  { root, files, names, addresses, versions, commands }: Mentions,
  open: readonly CheckpointItem[],
): Candidate[] {
  const found: Candidate[] = []
  const list = (label: string, mentions: readonly Mention[], rank: number, most = mostListed) => {
    if (mentions.length === 0) return
    const known = listedIn(
      open.find(item => item.section === 'facts' && item.text.startsWith(label))?.text.slice(label.length),
    )
    const listed = [...new Set([...mentions.map(mention => mention.text), ...known])].slice(0, most)
    const sources = [...new Set(mentions.slice(0, most).flatMap(mention => mention.versions))].sort((a, b) => a - b)
    found.push({ section: 'facts', text: label + listed.join(', '), sources: sources.slice(-12), rank })
  }
  if (root)
    found.push({
      section: 'facts',
      text: rootLabel + root,
      sources: [files[0]?.versions[0] ?? commands[0]!.versions[0]!],
      rank: 100,
    })
  for (const [folder, group] of byFolder(files)) {
    // The folder's weight is its heaviest file's: one file that matters brings its neighbours along.
    list(`${filesLabel}${folder}: `, group, 10 + group[0]!.weight / 10)
  }
  const worthy = names.filter(name => name.weight >= 3)
  list(namesLabel, worthy.slice(0, 60), 30, 60)
  list(moreNamesLabel, worthy.slice(60, 180), 5, 120)
  list(commandsLabel, commands.filter(isWorthRepeating).slice(0, 12).map(shortCommand), 25, 12)
  list(addressesLabel, addresses.slice(0, 10), 12, 12)
  list(versionsLabel, versions.slice(0, 10), 11, 12)
  return found
}

function listedIn(text: string | undefined): string[] {
  return text ? text.split(', ') : []
}

function byFolder(files: readonly Mention[]): Map<string, Mention[]> {
  const groups = new Map<string, Mention[]>()
  for (const file of files) {
    const slash = file.text.lastIndexOf('/')
    const folder = slash < 0 ? '.' : file.text.slice(0, slash) || '/'
    const group = groups.get(folder) ?? []
    group.push({ ...file, text: file.text.slice(slash + 1) })
    groups.set(folder, group)
  }
  return groups
}

/**
 * True for a command that ran more than once, or that builds or tests. Looking around with ls or grep is not worth a
 * fact.
 */
function isWorthRepeating({ text, weight }: Mention): boolean {
  if (
    /^(?:ls|cat|head|tail|grep|rg|find|sed|wc|echo|cd|pwd|git (?:status|diff|log|add|commit|show|mv|rm|checkout))\b/.test(
      text,
    )
  )
    return false
  return weight > 1 || /^(?:npm|npx|pnpm|yarn|bun|make|cargo|go|pytest|python|docker|kubectl|gradle|mvn)\b/.test(text)
}

/** A comma separates commands in the list. */
function shortCommand(mention: Mention): Mention {
  return { ...mention, text: clipped(mention.text.replaceAll(', ', ' '), 90) }
}
