/** What branches hang on: an event of another conversation, which they count and chain on from. */
import { IllegalState, NotFound } from '../../errors.ts'
import type { BranchPoint } from '../../log/events/conversation.ts'
import type { ConversationEvent } from '../../log/events/event.ts'
import { idProblem } from '../../log/events/id.ts'
import type { Run } from './database.ts'
import { highestVersion } from './rows.ts'

/** Where a branch leaves its parent. */
export interface BranchBase {
  /** The number of the parent. A conversation that is purged and restored gets a new one. */
  conversation: number
  version: number
  hash: Uint8Array
}

/**
 * Where a branch goes on from; undefined where the events begin no branch.
 *
 * It may be read before the write: an event's hash never changes, and the branch's row refers to its parent's, so that
 * it is refused when the parent is gone by then.
 *
 * @throws {NotFound} when the parent has no such version
 */
export async function branchBase(
  run: Run,
  project: number | undefined,
  [first]: readonly ConversationEvent[],
): Promise<BranchBase | undefined> {
  if (first?.type !== 'conversation.created' || !first.branchOf) return undefined
  const { conversationId, version } = first.branchOf
  const base = project === undefined ? undefined : await baseAt(run, project, first.branchOf)
  if (!base) throw new NotFound('conversation', conversationId, `It has no version ${version} to branch off.`)
  return base
}

export async function baseAt(
  run: Run,
  project: number,
  { conversationId, version }: BranchPoint,
): Promise<BranchBase | undefined> {
  if (idProblem(conversationId) || version > highestVersion) return undefined
  const [row] = await run<[number, Uint8Array]>(
    `select e.conversation, e.hash from events e
    where e.project = $1 and e.conversation = (select conversation from conversations where project = $1 and id = $2)
      and e.version = $3`,
    [project, conversationId, version],
  )
  return row && { conversation: row[0], version, hash: row[1] }
}

/** Where a branch that is there leaves its parent; the parent's record may be lost. */
export async function baseOf(
  run: Run,
  project: number,
  conversation: number,
): Promise<(BranchPoint & { hash: Uint8Array | undefined }) | undefined> {
  const [row] = await run<[string, number, Uint8Array | null]>(
    `select parent.id, c.branch_version, e.hash from conversations c
    join conversations parent on parent.project = c.project and parent.conversation = c.branch_of
    left join events e
      on e.project = c.project and e.conversation = c.branch_of and e.version = c.branch_version
    where c.project = $1 and c.conversation = $2`,
    [project, conversation],
  )
  return row && { conversationId: row[0], version: row[1], hash: row[2] ?? undefined }
}

/** What others hang on is not taken from under them. */
export async function refuseWithBranches(
  run: Run,
  { number, conversation, conversationId }: { number: number; conversation: number; conversationId: string },
): Promise<void> {
  const [branch] = await run<[string]>('select id from conversations where project = $1 and branch_of = $2 limit 1', [
    number,
    conversation,
  ])
  if (!branch) return
  throw new IllegalState(
    `Conversation ${branch[0]} branches off ${conversationId} and needs it. Nothing was purged; purge the branch first.`,
    { conversationId, branch: branch[0] },
  )
}
