/** A session in numbers: totals, tokens saved by compaction, the last request, the distance to the next compaction. */
import type { SessionHead } from '../../log/views/session.ts'
import { lifeOf } from '../../log/windows.ts'
import type { FittedRequest } from '../../request/assembly/fitted-request.ts'
import type { SessionAccess } from '../access/session-access.ts'

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
  /** The provider's expected count of it. The larger of the two counts. */
  calibrated: number
  /** True if that continues a real count of the provider. Otherwise its next answer brings one. */
  isMeasured: boolean
  /** 'warn' from 80 % of the budget, 'compact' once compaction is due. */
  level: 'ok' | 'warn' | 'compact'
  /** Tokens until the next compaction; 0 when it is due. */
  untilTrigger: number
  latched: boolean
}

/** `request` is the session's request now, without a message. */
export async function metricsOf(access: SessionAccess, request: FittedRequest): Promise<SessionMetrics> {
  const { inputs, packed, size, ledger } = request
  const { session, settings, budget } = inputs
  const total = await access.engine.store.measure(lifeOf(session))
  return {
    messages: total.messages,
    tokens: total.tokens,
    tokensIn: total.input,
    tokensOut: total.output,
    compactions: session.compactions,
    tokensSaved: session.checkpoint?.totalSaved ?? 0,
    lastRequest: session.lastRequest,
    budget,
    used: packed.tokens,
    calibrated: ledger.calibrated,
    isMeasured: ledger.isMeasured,
    level: size > budget * settings.trigger ? 'compact' : size > budget * settings.warn ? 'warn' : 'ok',
    untilTrigger: Math.max(0, Math.floor(budget * settings.trigger) - size),
    latched: session.latched ?? false,
  }
}
