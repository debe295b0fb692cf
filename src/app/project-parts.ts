/** What every call in a project shares: its settings, how its messages are written down, who looks references up, its MCP servers. */
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
  /** None in a project without a folder: they are started in it. */
  readonly mcp: McpServers | undefined
}

export interface AllProjectParts {
  of(project: string): ProjectParts
  /** For settings of a caller's own; the same for the same object. */
  made(options: ProjectOptions): ProjectParts
  /** Ends what was started for them. */
  close(): Promise<void>
}

interface Shared {
  engine: Engine
  estimator: () => TokenEstimator | Promise<TokenEstimator>
  /** Asked before those for conversations and files. */
  resolvers: readonly ReferenceResolver[]
}

export function projectParts(all: AllProjectSettings, shared: Shared): AllProjectParts {
  const own = new Map<ProjectSettings, Parts>()
  const made = new Map<ProjectOptions, Parts>()

  function partsOf(settings: ProjectSettings): Parts {
    const parts = own.get(settings) ?? new Parts(settings, shared)
    own.set(settings, parts)
    return parts
  }

  return {
    of: project => partsOf(all.of(project)),
    made(options) {
      const parts = made.get(options) ?? new Parts(projectSettings(options), shared)
      made.set(options, parts)
      return parts
    },
    async close() {
      for (const parts of [...own.values(), ...made.values()]) await parts.close()
    },
  }
}

/** Looks for the project's folder, and makes what works in it, when it is first asked for: who opens a store to read one thing needs none of it. */
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
  readonly #given: ProjectSettings
  readonly #shared: Shared
  #desk: ReferenceDesk | undefined
  #servers: McpServers | undefined

  constructor(given: ProjectSettings, shared: Shared) {
    this.settings = given.settings
    this.team = given.team
    this.redact = given.redact
    this.requests = given.requests
    this.references = given.references
    this.agents = given.agents
    this.building = given.building
    this.features = given.features
    this.#given = given
    this.#shared = shared
    const { engine, estimator } = shared
    const { maxMessageBytes } = given.settings
    this.scribe = scribe({ maxMessageBytes, newId: engine.newId, estimator, redact: given.redact })
  }

  get root(): string | undefined {
    return this.#given.root
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
