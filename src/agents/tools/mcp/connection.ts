/** A connection to an MCP server that runs as a program: JSON-RPC, a message per line, over its standard streams. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { timerMs } from '../../../timers.ts'

export interface McpConnection {
  request(method: string, params: Record<string, unknown>, signal?: AbortSignal): Promise<unknown>
  notify(method: string, params?: Record<string, unknown>): void
  close(): void
}

export interface McpProgram {
  command: string
  args?: readonly string[]
  env?: Readonly<Record<string, string>>
}

interface Pending {
  resolve(result: unknown): void
  reject(error: Error): void
}

const answerWithinMs = 60_000
/** Of what a server says when it fails. */
const mostWords = 2_000

export function mcpConnection({ command, args = [], env = {} }: McpProgram, folder: string): McpConnection {
  const child: ChildProcessWithoutNullStreams = spawn(command, [...args], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  const pending = new Map<number, Pending>()
  let next = 0
  let words = ''
  let gone: Error | undefined
  // Whoever waits is told; a pipe that breaks says no more than the end of the process does.
  const end = (reason: string) => {
    gone ??= new Error(`${reason}${words === '' ? '' : `: ${words.trim()}`}`)
    for (const { reject } of pending.values()) reject(gone)
    pending.clear()
  }
  child.on('error', error => end(error.message))
  child.on('close', code => end(`it ended with exit code ${code}`))
  child.stdin.on('error', () => undefined)
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-mostWords)
  })
  const send = (message: Record<string, unknown>) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

  createInterface({ input: child.stdout }).on('line', line => {
    const message = parsed(line)
    if (!message) return
    const { id, method, result, error } = message
    if (method !== undefined) {
      // It may ask whether we are there; of everything else we can do nothing.
      if (id !== undefined)
        send(method === 'ping' ? { id, result: {} } : { id, error: { code: -32601, message: 'Not here.' } })
      return
    }
    const waiting = typeof id === 'number' ? pending.get(id) : undefined
    if (!waiting) return
    pending.delete(id as number)
    if (error) waiting.reject(new Error(error.message ?? 'it failed without a word'))
    else waiting.resolve(result)
  })

  return {
    request(method, params, signal) {
      if (gone) return Promise.reject(gone)
      const id = ++next
      return new Promise((resolve, reject) => {
        const giveUp = (why: string) => {
          pending.delete(id)
          send({ method: 'notifications/cancelled', params: { requestId: id, reason: why } })
          settle()
          reject(new Error(why))
        }
        const stop = () => giveUp('the run was stopped')
        const timer = setTimeout(giveUp, timerMs(answerWithinMs), 'it did not answer in time').unref()
        const settle = () => {
          clearTimeout(timer)
          signal?.removeEventListener('abort', stop)
        }
        signal?.addEventListener('abort', stop, { once: true })
        pending.set(id, {
          resolve(result) {
            settle()
            resolve(result)
          },
          reject(error) {
            settle()
            reject(error)
          },
        })
        send({ id, method, params })
      })
    },
    notify: (method, params = {}) => void send({ method, params }),
    close() {
      child.stdin.end()
      child.kill()
    },
  }
}

interface Message {
  id?: unknown
  method?: string
  result?: unknown
  error?: { message?: string }
}

/** A server that prints something else among its messages is not worth failing for. */
function parsed(line: string): Message | undefined {
  try {
    const value = JSON.parse(line) as unknown
    return typeof value === 'object' && value !== null ? (value as Message) : undefined
  } catch {
    return undefined
  }
}
