/**
 * A checkpoint without what one message said, for when that message is erased.
 *
 * Items know which messages they came from, and so do the newest user messages that are carried along. What else a
 * checkpoint holds of a message word for word is told by the words.
 */
import type { CarriedState, Checkpoint, CheckpointItem } from '../../log/events/checkpoint.ts'

/** `text` is what the message said, as long as it is known. Undefined when the checkpoint has nothing of it. */
export function checkpointWithout(
  checkpoint: Checkpoint,
  { version, text }: { version: number; text: string },
): Checkpoint | undefined {
  const repeats = (value: string) => isOf(value, text)
  const items = checkpoint.items.flatMap(item => itemWithout(item, version, repeats))
  const carried = carriedWithout(checkpoint.carried, version, repeats)
  const { lastError } = checkpoint.ralphLoop ?? {}
  const ralphLoop =
    lastError !== undefined && repeats(lastError)
      ? { ...checkpoint.ralphLoop!, lastError: erasedText }
      : checkpoint.ralphLoop
  const without: Checkpoint = { ...checkpoint, items, carried, ...(ralphLoop && { ralphLoop }) }
  return JSON.stringify(without) === JSON.stringify(checkpoint) ? undefined : without
}

const erasedText = '[erased]'

/** Keeps an item with other sources. How much of its text came from the erased message cannot be told. */
function itemWithout(item: CheckpointItem, version: number, repeats: (text: string) => boolean): CheckpointItem[] {
  const isSource = item.sources.includes(version)
  const { resolved } = item
  const resolvedBy = resolved?.sources.filter(source => source !== version)
  const isResolvedBy = resolved !== undefined && resolvedBy!.length < resolved.sources.length
  if (!isSource && !isResolvedBy && !repeats(item.text)) return [item]
  const sources = item.sources.filter(source => source !== version)
  if (sources.length === 0) return []
  return [
    {
      ...item,
      sources,
      text: isSource || repeats(item.text) ? erasedText : item.text,
      ...(isResolvedBy && resolvedBy!.length > 0 && { resolved: { ...resolved, sources: resolvedBy! } }),
    },
  ]
}

function carriedWithout(carried: CarriedState, version: number, repeats: (text: string) => boolean): CarriedState {
  const left = Object.entries(carried).map(([name, entries]) => [
    name,
    // A file or a call is known by its name, which others may have said too.
    name === 'openCalls' || name === 'filesRead' || name === 'filesChanged'
      ? entries
      : (entries as readonly unknown[]).filter(entry => !isEntryOf(entry, version, repeats)),
  ])
  return Object.fromEntries(left) as CarriedState
}

function isEntryOf(entry: unknown, version: number, repeats: (text: string) => boolean): boolean {
  if (typeof entry === 'string') return repeats(entry)
  if (typeof entry !== 'object' || entry === null) return false
  if ('version' in entry && entry.version === version) return true
  return Object.values(entry).some(value => isEntryOf(value, Number.NaN, repeats))
}

/** Shorter pieces are common words. */
const tellingLength = 16

/** True if a text is a piece of the erased text, or contains all of it. */
function isOf(value: string, erased: string): boolean {
  const [piece, whole] = [value.trim(), erased.trim()]
  if (piece.length >= tellingLength && whole.includes(piece)) return true
  return whole.length >= tellingLength && piece.includes(whole)
}
