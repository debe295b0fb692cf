/**
 * The port of the register of nodes: the processes that serve this store, and how they do. Not of a project, and no part
 * of the log. `test/contract/nodes.ts` is what stores must promise.
 */
export interface NodeFacts {
  /** The process, for people: where it runs, and its number there. */
  name: string
  version: string
  /** ISO time. */
  startedAt: string
  /** What it counts of itself, by name. */
  figures: Readonly<Record<string, number>>
}

export interface LivingNode extends NodeFacts {
  id: string
  /** When it last said so. ISO time. */
  seenAt: string
}

export interface Nodes {
  /** Says that a node is there, and for how long that holds unless it says so again. Replaces what it said before. */
  announceNode(node: { id: string; facts: NodeFacts; forMs: number }): Promise<void>
  /** It goes. Quiet when it is not known. */
  forgetNode(id: string): Promise<void>
  /** Those that are there now, the longest serving first. */
  nodes(): Promise<LivingNode[]>
}
