/** A request that says of each of its words where it comes from. */
import type { AgentRequest } from '../../index.ts'

export function explained<R extends Pick<AgentRequest, 'explain'>>(
  request: R,
): R & { explained: ReturnType<AgentRequest['explain']> } {
  return { ...request, explained: request.explain() }
}
