/** The MCP servers of a project. Each starts when an agent with its tools first runs, and ends with the project. */
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
    let tools = started.get(name)
    if (!tools) {
      tools = mcpTools(name, server, folder)
      started.set(name, tools)
      // A server that failed to start may start the next time.
      tools.catch(() => started.delete(name))
    }
    return tools
  }

  return {
    async toolsFor(agentType) {
      const offered = Object.entries(servers).filter(([, { agents }]) => !agents || agents.includes(agentType))
      const lists = await Promise.all(offered.map(([name, server]) => start(name, server)))
      return lists.flatMap(({ tools }) => tools)
    },
    async close() {
      const all = await Promise.allSettled(started.values())
      for (const result of all) if (result.status === 'fulfilled') result.value.close()
    },
  }
}
