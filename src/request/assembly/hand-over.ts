/** The hand-over of a phase change, for an agent that was away then. */
import type { ConversationInfo } from '../../log/views/conversation.ts'
import type { TokenEstimator } from '../text/tokens.ts'
import { trimText } from '../text/trim.ts'
import type { HandOff } from './sections.ts'

export function handOffSince(
  info: ConversationInfo | undefined,
  {
    since,
    end = Number.MAX_SAFE_INTEGER,
    maxTokens,
    estimator,
  }: { since: number; end: number | undefined; maxTokens: number; estimator: TokenEstimator },
): HandOff | undefined {
  const { phase, phaseState } = info ?? {}
  const summary = phaseState?.summary ?? phaseState?.message
  if (!phaseState || !summary || phaseState.version <= since || phaseState.version > end) return undefined
  const tokens = estimator.count(summary)
  const told = trimText(summary, { to: maxTokens, tokens, estimator, how: 'the log has all of it' })
  const { from = 'the start', agent, actor } = phaseState
  return { text: told.text, tokens: told.tokens, label: `hand-off from ${from} to ${phase} by ${agent ?? actor}` }
}
