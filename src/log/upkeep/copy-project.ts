/**
 * Copies a project from one store into another: its idempotency keys, its purges, and each conversation as the lines of
 * an archive. An interrupted copy is continued by calling it again: conversations that are there already must end
 * alike, and stay as they are.
 */
import { ConversationDamaged, IllegalState } from '../../errors.ts'
import type { ConversationEnd, RunUpkeep } from '../upkeep-work.ts'
import { provedLines } from './archive-check.ts'
import { exportedLines, restoreLines } from './upkeep-calls.ts'

/** A store to copy from or into. */
export interface CopiedStore {
  /** Shown to people, in errors. */
  name: string
  run: RunUpkeep
}

export interface CopiedProject {
  project: string
  conversations: number
  events: number
  keys: number
  purges: number
  /** Number of conversations that this call copied. The others were there, or were refused. */
  copied: number
  /** Conversations that were not copied, and why. */
  refused: Array<{ conversationId: string; reason: string }>
}

export interface CopyProjectInput {
  from: CopiedStore
  to: CopiedStore
  project: string
  onProgress?: (done: number, total: number) => void
}

const pageSize = 1000

/** @throws {IllegalState} when a conversation is in the target and ends differently there */
export async function copyProject({ from, to, project, onProgress }: CopyProjectInput): Promise<CopiedProject> {
  const ends = await from.run('conversationEnds', { project })
  const copiedEnds = new Map((await to.run('conversationEnds', { project })).map(end => [end.conversationId, end]))
  refuseOther(ends, copiedEnds, to)
  // Keys come first: a write that is repeated on the target must find its key.
  const keys = await copyKeys({ from, to, project })
  const purges = await from.run('readPurges', { project })
  await to.run('addPurges', { project, purges })
  const total = ends.reduce((sum, end) => sum + end.events, 0)
  const result: CopiedProject = {
    ...{ project, conversations: ends.length, events: total, keys, purges: purges.length },
    ...{ copied: 0, refused: [] },
  }
  let done = 0
  // A branch comes after its parent: conversations are listed in the order they were created in.
  for (const end of ends) {
    if (!copiedEnds.has(end.conversationId)) {
      const reason = await copyConversation({ from, to, project }, end.conversationId)
      if (reason === undefined) result.copied++
      else result.refused.push({ conversationId: end.conversationId, reason })
    }
    done += end.events
    onProgress?.(done, total)
  }
  return result
}

/** Returns why the conversation was not copied; undefined when it was. */
async function copyConversation(
  { from, to, project }: CopyProjectInput,
  conversationId: string,
): Promise<string | undefined> {
  try {
    const lines = provedLines(exportedLines(from.run, { project, conversationId }))
    await restoreLines(to.run, { project, lines, now: Date.now() })
    return undefined
  } catch (error) {
    if (error instanceof ConversationDamaged || error instanceof IllegalState) return error.message
    throw error
  }
}

async function copyKeys({ from, to, project }: CopyProjectInput): Promise<number> {
  let count = 0
  for (let after: string | undefined; ; ) {
    const keys = await from.run('readKeys', { project, after, limit: pageSize })
    if (keys.length > 0) await to.run('addKeys', { project, keys })
    count += keys.length
    if (keys.length < pageSize) return count
    after = keys.at(-1)!.key
  }
}

/** Refuses a target that has one of the conversations with another end. */
function refuseOther(
  ends: readonly ConversationEnd[],
  copiedEnds: ReadonlyMap<string, ConversationEnd>,
  to: CopiedStore,
): void {
  const other = ends.find(({ conversationId, hash }) => (copiedEnds.get(conversationId)?.hash ?? hash) !== hash)
  if (!other) return
  const { conversationId } = other
  throw new IllegalState(
    `Conversation ${conversationId} is in ${to.name} already and ends differently. Nothing was copied: purge it there, or copy into an empty store.`,
    { conversationId, place: to.name },
  )
}
