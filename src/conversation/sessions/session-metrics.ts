/** A session in numbers: totals, what compaction saved, the last request, how far the next compaction is. */

import type { SessionHead } from '../../log/views/session.ts'
import { lifeOf } from '../../log/windows.ts'
import type { SessionAccess } from '../access/session-access.ts'
import type { RequestPacking } from './request-packing.ts'

export interface SessionMetrics {
  /** Messages and tokens over the session's whole life, as `stats.total` has them. */
  messages: number
  tokens: number
  tokensIn: number
  tokensOut: number
  compactions: number
  tokensSaved: number
  lastRequest: SessionHead['lastRequest']
  budget: number
  /** Tokens a request would have now, without a message. */
  used: number
  /** What the provider is expected to count for it; the larger of the two decides. */
  calibrated: number
  /** Whether that goes on from what the provider really counted; otherwise its next answer tells. */
  isMeasured: boolean
  /** 'warn' from 80 % of the budget, 'compact' once compaction is due. */
  level: 'ok' | 'warn' | 'compact'
  /** Tokens until the next compaction; 0 when it is due. */
  untilTrigger: number
  latched: boolean
}

export async function metricsOf(
  sessionId: string,
  access: SessionAccess,
  packing: RequestPacking,
): Promise<SessionMetrics> {
  const head = await access.head(sessionId)
  const total = await access.engine.store.measure(lifeOf(head))
  const { packed, budget, size, ledger, settings } = await packing.pack(head, '', { recall: false }, false)
  return {
    messages: total.messages,
    tokens: total.tokens,
    tokensIn: total.input,
    tokensOut: total.output,
    compactions: head.compactions,
    tokensSaved: head.checkpoint?.totalSaved ?? 0,
    lastRequest: head.lastRequest,
    budget,
    used: packed.tokens,
    calibrated: ledger.calibrated,
    isMeasured: ledger.isMeasured,
    level: size > budget * settings.trigger ? 'compact' : size > budget * settings.warn ? 'warn' : 'ok',
    untilTrigger: Math.max(0, Math.floor(budget * settings.trigger) - size),
    latched: head.latched ?? false,
  }
}
