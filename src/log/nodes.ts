/**
 * The register of nodes: the processes that serve this store, and how they do. It belongs to no project, and is no part of
 * the log.
 */
export interface NodeFacts {
  /** The process, for people: the machine it runs on, and its number there. */
  name: string
  version: string
  /** ISO time. */
  startedAt: string
  /** Counters of the process, by name. */
  figures: Readonly<Record<string, number>>
}

export interface LivingNode extends NodeFacts {
  id: string
  /** ISO time of its last announcement. */
  seenAt: string
}

/** The part of the port for stores. */
export interface NodeRegister {
  /** Registers a node for so many milliseconds, in place of its earlier facts. Without facts it is removed. */
  putNode(node: { id: string; facts: NodeFacts; forMs: number } | { id: string; facts?: undefined }): Promise<void>
  /** Nodes whose time is not over, the longest serving first. */
  nodes(): Promise<LivingNode[]>
}

export interface Nodes extends Pick<NodeRegister, 'nodes'> {
  /** Says that a node is there, and for how long that holds unless it says so again. Replaces its earlier facts. */
  announceNode(node: { id: string; facts: NodeFacts; forMs: number }): Promise<void>
  /** Removes a node. An unknown one is no error. */
  forgetNode(id: string): Promise<void>
}
