/** A request with its explanation: both renderings in pieces with their origin. */
import type { AgentRequest } from '../../index.ts'

export function explained<R extends Pick<AgentRequest, 'explain'>>(
  request: R,
): R & { explained: ReturnType<AgentRequest['explain']> } {
  return { ...request, explained: request.explain() }
}
