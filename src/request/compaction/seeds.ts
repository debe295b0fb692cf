/**
 * Checkpoints in the shapes of seeds 001 and 002, out and in.
 *
 * The seeds know fewer sections. What has no list of its own goes into the nearest one behind a word that says what it
 * is (`Constraint: …`), and comes back by it; so a checkpoint survives the way out and in. Ids, sources and what code
 * carries on do not exist there.
 */
import { z } from 'zod'
import { InvalidInput } from '../../errors.ts'
import { type Checkpoint, type CheckpointItem, type CheckpointSection, RalphLoop } from '../../log/events/checkpoint.ts'

const Lines = z.array(z.string()).default([])
const Count = z.number().nonnegative().default(0)

export const Seed001Checkpoint = z.object({
  version: z.int().nonnegative().default(1),
  createdAt: z.string().default(''),
  updatedAt: z.string().default(''),
  summary: z.object({
    completed: Lines,
    inProgress: Lines,
    pending: Lines,
    blockers: Lines,
    decisions: Lines,
    /** Later generations of that system sort by weight instead; all of it is facts to us. */
    critical: z.array(z.string()).optional(),
    important: z.array(z.string()).optional(),
    minor: z.array(z.string()).optional(),
  }),
  compactionInfo: z
    .object({
      messagesCompacted: Count,
      oldestMessageTimestamp: z.string().optional(),
      newestMessageTimestamp: z.string().optional(),
      compactedAt: z.string().optional(),
    })
    .optional(),
  stats: z.object({ totalCompactions: Count, totalMessages: Count, totalTokens: Count }).optional(),
})
export type Seed001Checkpoint = z.infer<typeof Seed001Checkpoint>

export const Seed002Checkpoint = z.object({
  sessionId: z.string().default(''),
  version: z.int().nonnegative().default(1),
  createdAt: z.string().default(''),
  updatedAt: z.string().default(''),
  summary: z.object({ completedItems: Lines, pendingItems: Lines, decisions: Lines, blockers: Lines }),
  ralphLoop: RalphLoop.optional(),
  tokens: z.object({ checkpoint: Count, lastCompactionInput: Count, totalSaved: z.number().default(0) }).optional(),
})
export type Seed002Checkpoint = z.infer<typeof Seed002Checkpoint>

/** ISO times, which a checkpoint itself does not hold. */
export interface SeedTimes {
  createdAt: string
  updatedAt: string
  oldestMessageTimestamp?: string
  newestMessageTimestamp?: string
}

/** Where a checkpoint from outside stands in our log. */
export interface SeedPlace {
  from: number
  upTo: number
  newId: () => string
  /** Default: the last version it stands for. */
  sources?: readonly number[]
  author?: string
}

type List001 = 'completed' | 'inProgress' | 'pending' | 'blockers' | 'decisions'
type List002 = 'completedItems' | 'pendingItems' | 'decisions' | 'blockers'
type Homes<List> = Record<CheckpointSection, { list: List; label?: string }>

const homes001: Homes<List001> = {
  goal: { list: 'inProgress', label: 'Goal' },
  constraints: { list: 'decisions', label: 'Constraint' },
  completed: { list: 'completed' },
  inProgress: { list: 'inProgress' },
  pending: { list: 'pending' },
  decisions: { list: 'decisions' },
  blockers: { list: 'blockers' },
  deadEnds: { list: 'decisions', label: 'Dead end' },
  facts: { list: 'decisions', label: 'Fact' },
}

const homes002: Homes<List002> = {
  goal: { list: 'pendingItems', label: 'Goal' },
  constraints: { list: 'decisions', label: 'Constraint' },
  completed: { list: 'completedItems' },
  inProgress: { list: 'pendingItems', label: 'In progress' },
  pending: { list: 'pendingItems' },
  decisions: { list: 'decisions' },
  blockers: { list: 'blockers' },
  deadEnds: { list: 'decisions', label: 'Dead end' },
  facts: { list: 'decisions', label: 'Fact' },
}

export function toSeed001(checkpoint: Checkpoint, times: SeedTimes): Seed001Checkpoint {
  const { number, messages, items, tokens } = checkpoint
  const { createdAt, updatedAt, oldestMessageTimestamp, newestMessageTimestamp } = times
  return {
    version: number,
    createdAt,
    updatedAt,
    summary: listed(items, homes001, { completed: [], inProgress: [], pending: [], blockers: [], decisions: [] }),
    compactionInfo: {
      messagesCompacted: messages,
      ...(oldestMessageTimestamp !== undefined && { oldestMessageTimestamp }),
      ...(newestMessageTimestamp !== undefined && { newestMessageTimestamp }),
      compactedAt: updatedAt,
    },
    // What the messages took that it stands for: what was saved, and what it takes itself.
    stats: {
      totalCompactions: number,
      totalMessages: messages,
      totalTokens: Math.max(0, tokens.totalSaved + tokens.checkpoint),
    },
  }
}

export function toSeed002(checkpoint: Checkpoint, times: SeedTimes & { sessionId: string }): Seed002Checkpoint {
  const { number, items, ralphLoop, tokens } = checkpoint
  return {
    sessionId: times.sessionId,
    version: number,
    createdAt: times.createdAt,
    updatedAt: times.updatedAt,
    summary: listed(items, homes002, { completedItems: [], pendingItems: [], decisions: [], blockers: [] }),
    ...(ralphLoop && { ralphLoop }),
    tokens: { ...tokens },
  }
}

/** @throws {InvalidInput} when it has no summary in that shape */
export function fromSeed001(seed: unknown, place: SeedPlace): Checkpoint {
  const { version, summary, compactionInfo, stats } = parsed(Seed001Checkpoint, seed)
  const { critical = [], important = [], minor = [], ...lists } = summary
  const lines = linesOf(lists, homes001)
  for (const text of [...critical, ...important, ...minor]) lines.push({ section: 'facts', text })
  return checkpointOf(lines, place, version, {
    messages: Math.round(compactionInfo?.messagesCompacted || stats?.totalMessages || 0),
    tokens: { checkpoint: 0, lastCompactionInput: 0, totalSaved: Math.round(stats?.totalTokens ?? 0) },
  })
}

/** @throws {InvalidInput} when it has no summary in that shape */
export function fromSeed002(seed: unknown, place: SeedPlace): Checkpoint {
  const { version, summary, ralphLoop, tokens } = parsed(Seed002Checkpoint, seed)
  return checkpointOf(linesOf(summary, homes002), place, version, {
    messages: 0,
    tokens: {
      checkpoint: Math.round(tokens?.checkpoint ?? 0),
      lastCompactionInput: Math.round(tokens?.lastCompactionInput ?? 0),
      totalSaved: Math.round(tokens?.totalSaved ?? 0),
    },
    ...(ralphLoop && { ralphLoop }),
  })
}

interface Line {
  section: CheckpointSection
  text: string
}

function listed<List extends string>(
  items: readonly CheckpointItem[],
  homes: Homes<List>,
  lists: Record<List, string[]>,
): Record<List, string[]> {
  for (const { section, text, resolved } of items) {
    if (resolved && section !== 'completed') continue
    const { list, label } = homes[section]
    lists[list].push(label ? `${label}: ${text}` : text)
  }
  return lists
}

function linesOf<List extends string>(lists: Record<List, string[]>, homes: Homes<List>): Line[] {
  const entries = Object.entries(homes) as [CheckpointSection, { list: List; label?: string }][]
  return (Object.keys(lists) as List[]).flatMap(list => {
    const sections = entries.filter(([, home]) => home.list === list)
    const plain = sections.find(([, home]) => !home.label)![0]
    return lists[list].flatMap(line => {
      const labelled = sections.find(([, { label }]) => label && line.startsWith(`${label}: `))
      const text = labelled ? line.slice(labelled[1].label!.length + 2) : line
      return text.trim() === '' ? [] : [{ section: labelled?.[0] ?? plain, text }]
    })
  })
}

function checkpointOf(
  lines: readonly Line[],
  { from, upTo, newId, sources = [upTo], author = 'imported' }: SeedPlace,
  version: number,
  rest: Pick<Checkpoint, 'messages' | 'tokens' | 'ralphLoop'>,
): Checkpoint {
  const number = Math.max(1, version)
  const order: CheckpointSection[] = [...new Set(lines.map(line => line.section))]
  const sorted = order.flatMap(section => lines.filter(line => line.section === section))
  return {
    number,
    base: 0,
    from,
    upTo,
    author,
    items: sorted.map(({ section, text }) => ({ id: newId(), section, text, sources: [...sources], since: number })),
    carried: { openCalls: [], filesRead: [], filesChanged: [], userMessages: [] },
    ...rest,
  }
}

function parsed<Schema extends z.ZodType>(schema: Schema, seed: unknown): z.infer<Schema> {
  const result = schema.safeParse(seed)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new InvalidInput(issue?.path.join('.') || 'checkpoint', issue?.message ?? 'is not a checkpoint')
}
