/** Runs in progress according to the log, of this process and of others. */
import type { Engine, Scope } from '../../log/engine.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import type { OpenRun } from '../../log/views/runs.ts'

export interface RunningRun extends Omit<OpenRun, 'id' | 'version'> {
  runId: string
  conversationId: string
  title: string
  /** It runs in this process, which can therefore stop it. */
  isHere: boolean
  /** Its lease has run out: the process is gone, and the next sweep or run records that. */
  isDead: boolean
}

/** Every open run has a due time, so the list of due conversations contains them all. */
export async function runningRuns(
  { store }: Engine,
  { project }: Scope,
  { conversationId, isHere }: { conversationId: string | undefined; isHere: (sessionId: string) => boolean },
): Promise<RunningRun[]> {
  const runs: RunningRun[] = []
  const add = async ({ info }: ConversationHead) => {
    for (const { id: runId, version: _, ...run } of info.runs?.open ?? []) {
      const isDead = (await store.holderOf({ project, name: `run ${run.sessionId}` })) === undefined
      runs.push({ runId, ...run, conversationId: info.id, title: info.title, isHere: isHere(run.sessionId), isDead })
    }
  }
  if (conversationId !== undefined) {
    const head = await store.conversation(project, conversationId)
    if (head) await add(head)
    return runs
  }
  let cursor: string | undefined
  do {
    const page = await store.due(project, Number.MAX_SAFE_INTEGER, { limit: 100, ...(cursor && { cursor }) })
    for (const head of page.items) await add(head)
    cursor = page.next
  } while (cursor !== undefined)
  return runs.sort((a, b) => a.startedAt.localeCompare(b.startedAt))
}
