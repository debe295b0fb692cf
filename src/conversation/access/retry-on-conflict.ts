/** A change of a session that hangs on what was looked at before: where somebody wrote meanwhile, it is looked at again. */

import { VersionConflict } from '../../errors.ts'
import type { Decision } from '../../log/commands/decision.ts'
import { checkWrite, type Engine, type Scope, type WriteOptions } from '../../log/engine.ts'
import type { SessionHead } from '../../log/views/session.ts'

/** Whoever meets a writer at every look is told so. */
const mostLooks = 20

export async function changeAsSeen(
  { engine, scope }: { engine: Engine; scope: Scope },
  sessionId: string,
  /** `isFleeting`: the decision holds only for what was looked at. */
  look: (head: SessionHead | undefined) => Promise<{ decide: Decision; isFleeting: boolean }>,
  { asked, write }: { asked: readonly unknown[]; write: WriteOptions | undefined },
): Promise<SessionHead> {
  const { store } = engine
  // As it was given: with a version beside it, what is no option would not show.
  checkWrite(write)
  for (let tries = 1; ; tries++) {
    // What is looked up ahead refuses nothing: a key may give what it gave before the session was deleted.
    const head = await store.session(scope.project, sessionId)
    const conversation = head && (await store.conversation(scope.project, head.conversationId))
    const { decide, isFleeting } = await look(head)
    const options = isFleeting && conversation ? { expectedVersion: conversation.version, ...write } : write
    try {
      const { session } = await engine.execute(scope, {
        conversation: 'of-session',
        session: { id: sessionId },
        decide,
        options,
        asked,
      })
      return session!
    } catch (error) {
      const isMoved = error instanceof VersionConflict && write?.expectedVersion === undefined
      if (!isMoved || tries === mostLooks) throw error
    }
  }
}
