/** What every call in a project shares: its settings, how its messages are written down, who looks references up, its MCP servers. */
import { type McpServers, mcpServers } from '../agent/mcp/servers.ts'
import { fileResolver } from '../context/file-resolver.ts'
import type { ReferenceResolver } from '../context/resolver.ts'
import type { Engine } from '../engine.ts'
import type { TokenEstimator } from '../request/tokens.ts'
import { conversationResolver } from './conversation-resolver.ts'
import {
  type AllProjectSettings,
  completeProjectSettings,
  type ProjectOptions,
  type ProjectSettings,
} from './project-settings.ts'
import type { ReferenceDesk } from './references.ts'
import { type Scribe, scribe } from './scribe.ts'

export interface ProjectParts extends ProjectSettings {
  scribe: Scribe
  desk: ReferenceDesk
  /** None in a project without a folder: they are started in it. */
  mcp: McpServers | undefined
}

export interface AllProjectParts {
  of(project: string): ProjectParts
  /** For settings of a caller's own; the same for the same object. */
  made(options: ProjectOptions): ProjectParts
  /** Ends what was started for them. */
  close(): Promise<void>
}

export function projectParts(
  all: AllProjectSettings,
  {
    engine,
    estimator,
    resolvers,
  }: {
    engine: Engine
    estimator: () => TokenEstimator | Promise<TokenEstimator>
    /** Asked before those for conversations and files. */
    resolvers: readonly ReferenceResolver[]
  },
): AllProjectParts {
  function partsOf(settings: ProjectSettings): ProjectParts {
    const { root, redact, agents } = settings
    const { maxMessageBytes } = settings.settings
    return {
      ...settings,
      scribe: scribe({ maxMessageBytes, newId: engine.newId, estimator, redact }),
      desk: {
        settings: settings.references,
        resolvers: [...resolvers, conversationResolver(engine), ...(root === undefined ? [] : [fileResolver(root)])],
        pending: new Map(),
        failed: new Map(),
      },
      mcp: root === undefined ? undefined : mcpServers(agents.mcp, root),
    }
  }

  const own = new Map([...all.named].map(([project, settings]) => [project, partsOf(settings)]))
  let shared: ProjectParts | undefined
  const made = new Map<ProjectOptions, ProjectParts>()
  return {
    of(project) {
      const found = own.get(project) ?? shared
      if (found) return found
      shared = partsOf(all.others)
      return shared
    },
    made(options) {
      const parts = made.get(options) ?? partsOf(completeProjectSettings(options))
      made.set(options, parts)
      return parts
    },
    async close() {
      for (const { mcp } of [...own.values(), ...made.values()]) await mcp?.close()
    },
  }
}
