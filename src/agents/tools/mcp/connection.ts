/**
 * A connection to an MCP server that runs as a program: JSON-RPC, one message per line, over its standard streams.
 *
 * docs/decisions/dependencies.md says why it is not the official client.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { z } from 'zod'

export interface McpConnection {
  request(method: string, params: Record<string, unknown>, signal?: AbortSignal): Promise<unknown>
  notify(method: string, params?: Record<string, unknown>): void
  close(): void
}

export const McpProgram = z.strictObject({
  command: z.string().min(1),
  args: z.array(z.string()).readonly().optional(),
  env: z.record(z.string(), z.string()).readonly().optional(),
})
type McpProgram = z.output<typeof McpProgram>

interface Pending {
  resolve(result: unknown): void
  reject(error: Error): void
}

const requestTimeoutMs = 60_000
/** The end of a server's standard error is part of the message of its failure. */
const maxErrorCharacters = 2_000

export function mcpConnection({ command, args = [], env = {} }: McpProgram, folder: string): McpConnection {
  const child: ChildProcessWithoutNullStreams = spawn(command, [...args], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  const pending = new Map<number, Pending>()
  let lastId = 0
  let errorOutput = ''
  let failure: Error | undefined
  const fail = (reason: string) => {
    failure ??= new Error(`${reason}${errorOutput === '' ? '' : `: ${errorOutput.trim()}`}`)
    for (const { reject } of pending.values()) reject(failure)
    pending.clear()
  }
  child.on('error', error => fail(error.message))
  child.on('close', code => fail(`it ended with exit code ${code}`))
  // A broken pipe adds nothing: the process has ended, which is reported above.
  child.stdin.on('error', () => undefined)
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errorOutput = (errorOutput + text).slice(-maxErrorCharacters)
  })
  const send = (message: Record<string, unknown>) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

  createInterface({ input: child.stdout }).on('line', line => {
    const message = parseMessage(line)
    if (!message) return
    const { id, method, result, error } = message
    if (method !== undefined) {
      if (id !== undefined) send(method === 'ping' ? { id, result: {} } : { id, error: unknownMethod })
      return
    }
    const request = typeof id === 'number' ? pending.get(id) : undefined
    if (!request) return
    pending.delete(id as number)
    if (error) request.reject(new Error(error.message ?? 'it failed without a reason'))
    else request.resolve(result)
  })

  return {
    request(method, params, signal) {
      if (failure) return Promise.reject(failure)
      const id = ++lastId
      const answer = new Promise((resolve, reject) => pending.set(id, { resolve, reject }))
      const cancel = (reason: string) => {
        pending.get(id)?.reject(new Error(reason))
        if (pending.delete(id)) send({ method: 'notifications/cancelled', params: { requestId: id, reason } })
      }
      const stop = () => cancel('the run was stopped')
      const timer = setTimeout(cancel, requestTimeoutMs, 'it did not answer in time').unref()
      signal?.addEventListener('abort', stop, { once: true })
      send({ id, method, params })
      return answer.finally(() => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', stop)
      })
    },
    notify: (method, params = {}) => void send({ method, params }),
    close() {
      child.stdin.end()
      child.kill()
    },
  }
}

const unknownMethod = { code: -32601, message: 'This client offers no methods but ping.' }

interface Message {
  id?: unknown
  method?: string
  result?: unknown
  error?: { message?: string }
}

/** Returns undefined for other output, which a server may mix in. */
function parseMessage(line: string): Message | undefined {
  try {
    const value = JSON.parse(line) as unknown
    return typeof value === 'object' && value !== null ? (value as Message) : undefined
  } catch {
    return undefined
  }
}
