/** Facts of other sessions as lines of the computed state: of each only the beginning, so that a few fit. */
import type { CheckpointItem } from '../../log/events/checkpoint.ts'
import type { ComputedLine } from '../compaction/computed-sections.ts'
import { renderItems } from '../compaction/render-checkpoint.ts'
import type { TokenEstimator } from '../text/tokens.ts'
import { trimText } from '../text/trim.ts'

/** A message from before a delegation, or the items of another session's checkpoint that this session may know. */
export type SharedKnowledge =
  | { version: number; author: string; content: string }
  | {
      agentName: string
      taskState: string | undefined
      checkpoint: number
      upTo: number
      items: readonly CheckpointItem[]
    }

const maxTokensEach = 1_500
const maxShareEach = 0.4

/** `maxTokens` is the size of the whole computed state. */
export function sharedLines(
  shared: readonly SharedKnowledge[],
  { maxTokens, estimator }: { maxTokens: number; estimator: TokenEstimator },
): ComputedLine[] {
  const beginning = (text: string) =>
    trimText(text, {
      to: Math.min(maxTokensEach, Math.floor(maxTokens * maxShareEach)),
      tokens: estimator.count(text),
      estimator,
      how: 'the log has all of it',
    }).text
  return shared.map(entry => {
    if ('content' in entry) {
      const { version, author, content } = entry
      return { label: `message ${version} by ${author}, before the delegation`, quote: beginning(content) }
    }
    const { agentName, taskState, checkpoint, upTo, items } = entry
    const state = taskState === undefined ? '' : ` in ${taskState}`
    return {
      label: `${agentName}${state}, checkpoint ${checkpoint} up to message ${upTo}`,
      quote: beginning(renderItems(items).join('\n')),
    }
  })
}
