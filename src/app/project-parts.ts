/** The parts that all calls in a project share: settings, preparing messages, resolving references, MCP servers. */
import { type McpServers, mcpServers } from '../agents/tools/mcp/servers.ts'
import { type Scribe, scribe } from '../conversation/access/prepare-message.ts'
import { conversationResolver } from '../conversation/references/conversation-resolver.ts'
import type { ReferenceDesk } from '../conversation/references/references.ts'
import type { Engine } from '../log/engine.ts'
import { fileResolver } from '../request/context/file-resolver.ts'
import type { ReferenceResolver } from '../request/context/resolver.ts'
import type { TokenEstimator } from '../request/text/tokens.ts'
import type { ProjectOptions } from './configuration/options.ts'
import { type AllProjectSettings, type ProjectSettings, projectSettings } from './project-settings.ts'

export interface ProjectParts extends ProjectSettings {
  readonly scribe: Scribe
  readonly desk: ReferenceDesk
  /** Undefined in a project without a folder, because the servers are started in it. */
  readonly mcp: McpServers | undefined
}

export interface AllProjectParts {
  of(project: string): ProjectParts
  /** Parts for a caller's own options; the same options object gives the same parts. */
  withOptions(options: ProjectOptions): ProjectParts
  /** Waits for writes of messages, and stops MCP servers. */
  close(): Promise<void>
}

interface Shared {
  engine: Engine
  estimator: () => TokenEstimator | Promise<TokenEstimator>
  /** Come before the resolvers of conversations and files. */
  resolvers: readonly ReferenceResolver[]
}

export function projectParts(all: AllProjectSettings, shared: Shared): AllProjectParts {
  const bySettings = new Map<ProjectSettings, Parts>()
  const byOptions = new Map<ProjectOptions, Parts>()

  function partsOf(settings: ProjectSettings): Parts {
    const parts = bySettings.get(settings) ?? new Parts(settings, shared)
    bySettings.set(settings, parts)
    return parts
  }

  return {
    of: project => partsOf(all.of(project)),
    withOptions(options) {
      const parts = byOptions.get(options) ?? new Parts(projectSettings(options), shared)
      byOptions.set(options, parts)
      return parts
    },
    async close() {
      for (const parts of [...bySettings.values(), ...byOptions.values()]) await parts.close()
    },
  }
}

/** Finds the project's folder and creates the parts that work in it at their first use: a short command needs neither. */
class Parts implements ProjectParts {
  readonly settings: ProjectSettings['settings']
  readonly team: ProjectSettings['team']
  readonly redact: boolean
  readonly requests: ProjectSettings['requests']
  readonly references: ProjectSettings['references']
  readonly agents: ProjectSettings['agents']
  readonly building: ProjectSettings['building']
  readonly features: ProjectSettings['features']
  readonly scribe: Scribe
  readonly #projectSettings: ProjectSettings
  readonly #shared: Shared
  #desk: ReferenceDesk | undefined
  #servers: McpServers | undefined

  constructor(settings: ProjectSettings, shared: Shared) {
    this.settings = settings.settings
    this.team = settings.team
    this.redact = settings.redact
    this.requests = settings.requests
    this.references = settings.references
    this.agents = settings.agents
    this.building = settings.building
    this.features = settings.features
    this.#projectSettings = settings
    this.#shared = shared
    const { engine, estimator } = shared
    const { maxMessageBytes } = this.settings
    this.scribe = scribe({ maxMessageBytes, newId: engine.newId, estimator, redact: this.redact })
  }

  get root(): string | undefined {
    return this.#projectSettings.root
  }

  get desk(): ReferenceDesk {
    const { root } = this
    const { engine, resolvers } = this.#shared
    this.#desk ??= {
      settings: this.references,
      resolvers: [...resolvers, conversationResolver(engine), ...(root === undefined ? [] : [fileResolver(root)])],
      pending: new Map(),
      failed: new Map(),
    }
    return this.#desk
  }

  get mcp(): McpServers | undefined {
    const { root } = this
    if (root !== undefined) this.#servers ??= mcpServers(this.agents.mcp, root)
    return this.#servers
  }

  async close(): Promise<void> {
    await this.scribe.settled()
    await this.#servers?.close()
  }
}
