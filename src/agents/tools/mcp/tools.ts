/** The tools of an MCP server as Colloquy's tools, named `mcp__SERVER__TOOL`. */
import { z } from 'zod'
import { ToolServerFailed } from '../../../errors.ts'
import { shorten, type Tool } from '../tool.ts'
import { type McpConnection, McpProgram, mcpConnection } from './connection.ts'

export const McpServer = McpProgram.extend({
  /** The types of agents that get its tools. Default: all. */
  agents: z.array(z.string().min(1)).readonly().optional(),
})
export type McpServer = z.output<typeof McpServer>

export interface McpTools {
  readonly tools: readonly Tool[]
  close(): void
}

interface ToolList {
  tools?: { name: string; description?: string; inputSchema?: Record<string, unknown> }[]
  nextCursor?: string
}

interface ToolCallResult {
  content?: { type: string; text?: string }[]
  structuredContent?: unknown
  isError?: boolean
}

/** Sent to servers, which answer with their own version. */
const protocolVersion = '2025-06-18'

/** @throws {ToolServerFailed} when it cannot be started or does not speak the protocol */
export async function mcpTools(server: string, program: McpServer, folder: string): Promise<McpTools> {
  const connection = mcpConnection(program, folder)
  try {
    const clientInfo = { name: 'colloquy', version: '0' }
    await connection.request('initialize', { protocolVersion, capabilities: {}, clientInfo })
    connection.notify('notifications/initialized')
    return { tools: await listTools(server, connection), close: connection.close }
  } catch (error) {
    connection.close()
    throw new ToolServerFailed({ server, reason: error instanceof Error ? error.message : String(error) })
  }
}

async function listTools(server: string, connection: McpConnection): Promise<Tool[]> {
  const tools: Tool[] = []
  let cursor: string | undefined
  do {
    const page = (await connection.request('tools/list', cursor === undefined ? {} : { cursor })) as ToolList
    for (const { name, description = '', inputSchema = { type: 'object' } } of page.tools ?? []) {
      tools.push({
        name: `mcp__${server}__${name}`.replace(/[^\w-]/g, '_').slice(0, 64),
        description,
        inputSchema,
        async run(input, { signal, limits }) {
          const params = { name, arguments: input ?? {} }
          const result = (await connection.request('tools/call', params, signal)) as ToolCallResult
          return { text: shorten(textOf(result), limits.characters), isError: result.isError ?? false }
        },
      })
    }
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return tools
}

function textOf({ content = [], structuredContent }: ToolCallResult): string {
  const texts = content.map(({ type, text }) => (type === 'text' && text !== undefined ? text : `[${type}]`))
  if (texts.length === 0 && structuredContent !== undefined) return JSON.stringify(structuredContent)
  return texts.join('\n') || '(nothing)'
}
