/** A change of a session that depends on an earlier read. It is retried when another write came in between. */

import { VersionConflict } from '../../errors.ts'
import type { Decision } from '../../log/commands/decision.ts'
import { checkWrite, type Engine, type Scope, type WriteOptions } from '../../log/engine.ts'
import type { SessionHead } from '../../log/views/session.ts'

/** After this many tries the conflict is thrown. */
const maxTries = 20

export async function changeAsSeen(
  { engine, scope }: { engine: Engine; scope: Scope },
  sessionId: string,
  /** `isFleeting`: the decision is valid only for the version that was read. */
  look: (head: SessionHead | undefined) => Promise<{ decide: Decision; isFleeting: boolean }>,
  { asked, write }: { asked: readonly unknown[]; write: WriteOptions | undefined },
): Promise<SessionHead> {
  const { store } = engine
  // Checked before a version is added, so that a misspelt option is named.
  checkWrite(write)
  for (let tries = 1; ; tries++) {
    // A missing session is not refused here, because a key may give its result after the session was deleted.
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
      if (!isMoved || tries === maxTries) throw error
    }
  }
}
