/** The MCP servers of a project: each is started when an agent that has its tools is first run, and ended at the end. */
import type { Tool } from '../tool.ts'
import { type McpServer, type McpTools, mcpTools } from './tools.ts'

export interface McpServers {
  /** @throws {ToolServerFailed} */
  toolsFor(agentType: string): Promise<Tool[]>
  close(): Promise<void>
}

export function mcpServers(servers: Readonly<Record<string, McpServer>>, folder: string): McpServers {
  const started = new Map<string, Promise<McpTools>>()

  function start(name: string, server: McpServer): Promise<McpTools> {
    let found = started.get(name)
    if (!found) {
      found = mcpTools(name, server, folder)
      started.set(name, found)
      // What failed to start may start the next time.
      found.catch(() => started.delete(name))
    }
    return found
  }

  return {
    async toolsFor(agentType) {
      const meant = Object.entries(servers).filter(([, { agents }]) => !agents || agents.includes(agentType))
      const found = await Promise.all(meant.map(([name, server]) => start(name, server)))
      return found.flatMap(({ tools }) => tools)
    },
    async close() {
      const all = await Promise.allSettled(started.values())
      for (const one of all) if (one.status === 'fulfilled') one.value.close()
    },
  }
}
