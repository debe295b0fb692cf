/** Gathers a context only when its inputs changed. */
import { isDeepStrictEqual } from 'node:util'
import type { SessionContext } from '../../log/events/context.ts'
import { contextFingerprint } from './fingerprint.ts'
import { type ContextInputs, gatherContext } from './gather.ts'

/** The last recorded context of a session. */
interface RecordedContext {
  readonly context: SessionContext
  readonly fingerprint: string
}

interface GatheredContext extends RecordedContext {
  /** It differs from the recorded one, or there is none: worth a new event. */
  readonly changed: boolean
}

interface ContextGatherer {
  /**
   * @param recorded the session's last context, which saves gathering it again also in a fresh process; without it
   *   the result counts as changed
   */
  gather(inputs: ContextInputs, recorded?: RecordedContext): Promise<GatheredContext>
}

/** Contexts kept at once; the one not asked for the longest goes first, and is gathered again when needed. */
const mostKept = 200

/** Keeps contexts by fingerprint, so sessions on the same work share one. */
export function contextGatherer(): ContextGatherer {
  const kept = new Map<string, SessionContext>()
  return {
    async gather(inputs, recorded) {
      // Taken before gathering: a file that changes meanwhile makes the next fingerprint differ.
      const fingerprint = await contextFingerprint(inputs)
      if (recorded?.fingerprint === fingerprint) return { ...recorded, changed: false }
      const context = kept.get(fingerprint) ?? (await gatherContext(inputs))
      kept.delete(fingerprint)
      kept.set(fingerprint, context)
      if (kept.size > mostKept) kept.delete(kept.keys().next().value!)
      // A file that was only touched changes the fingerprint and nothing else.
      return { context, fingerprint, changed: !isDeepStrictEqual(context, recorded?.context) }
    },
  }
}
