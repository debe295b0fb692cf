/**
 * Prints the three walks of ARCHITECTURE.md in figures: a message in, a request out, an event to a browser. Counted by
 * V8's precise coverage of the built package, by its source maps; the worker thread of SQLite and outside libraries are not counted.
 *
 * `npm run trace -- --list` names the files in the order in which the walk first enters them.
 */
import { existsSync, readFileSync } from 'node:fs'
import { get, request } from 'node:http'
import type { Profiler } from 'node:inspector'
import { Session as Inspector } from 'node:inspector/promises'
import { SourceMap } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type Colloquy, openColloquy } from 'colloquy'
import { createServer, listen, newToken } from 'colloquy/server'
import { inTemporaryFolder } from './support/folder.ts'

const root = join(import.meta.dirname, '..')
const built = pathToFileURL(join(root, 'dist/')).href
const warmUps = 60

interface Walk {
  files: string[]
  functions: number
  calls: number
  headReads: number
  iterators: string[]
}

const inspector = new Inspector()
inspector.connect()
await inspector.post('Profiler.enable')
await inspector.post('Debugger.enable')
const walks = await inTemporaryFolder(async folder => ({
  'a message in': await messageIn(join(folder, 'message.db')),
  'a request out': await requestOut(join(folder, 'request.db')),
  'an event to a browser': await eventToBrowser(join(folder, 'event.db')),
}))
print(walks)
process.exit()

/** `addMessage` on SQLite, after the first commits of the process. */
async function messageIn(file: string): Promise<Walk> {
  return inSession(file, async ({ sessions }, sessionId) => {
    for (let at = 0; at < warmUps; at++)
      await sessions.addMessage(sessionId, { role: 'user', content: `Message ${at}` })
    return walked(() => sessions.addMessage(sessionId, { role: 'user', content: 'The message' }))
  })
}

/** `buildRequest` with 12 messages, after two others. */
async function requestOut(file: string): Promise<Walk> {
  return inSession(file, async ({ sessions }, sessionId) => {
    for (let at = 0; at < 12; at++) {
      await sessions.addMessage(sessionId, { role: at % 2 === 0 ? 'user' : 'assistant', content: `Message ${at}` })
    }
    for (let at = 0; at < 2; at++) await sessions.buildRequest(sessionId, `Question ${at}`)
    return walked(() => sessions.buildRequest(sessionId, 'The question'))
  })
}

/** A message is posted, and another connection receives it as a server-sent event. Client and server share the process. */
async function eventToBrowser(file: string): Promise<Walk> {
  return inSession(file, async (colloquy, sessionId) => {
    const token = newToken()
    const server = createServer({ colloquy, owner: { token, name: 'owner' }, configuration: { sweepEveryMs: null } })
    const running = await listen(server, { port: 0, token })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const base = `${running.url}/api/v1/projects/${colloquy.project}`
    const received = await eventSource(`${running.url}/api/v1/events?project=${colloquy.project}`, headers)
    const post = async (content: string) => {
      const arrived = received(content)
      await posted(`${base}/sessions/${sessionId}/messages`, headers, JSON.stringify({ role: 'user', content }))
      await arrived
    }
    for (let at = 0; at < warmUps; at++) await post(`Message ${at}`)
    const walk = await walked(() => post('The message'))
    await running.stop()
    return walk
  })
}

async function inSession(file: string, use: (colloquy: Colloquy, sessionId: string) => Promise<Walk>): Promise<Walk> {
  const colloquy = await openColloquy({ store: `sqlite:${file}`, project: 'trace', tokens: 'exact' })
  try {
    const { id } = await colloquy.sessions.getOrCreateSession({ type: 'thread', agentType: 'pm', threadId: 'trace' })
    return await use(colloquy, id)
  } finally {
    await colloquy.close()
  }
}

/** Opens a stream of events. The result waits for the event that holds a text. */
function eventSource(url: string, headers: Record<string, string>): Promise<(text: string) => Promise<void>> {
  let received = ''
  let waiting: { text: string; done: () => void } | undefined
  return new Promise((resolve, reject) => {
    get(url, { headers }, response => {
      if (response.statusCode !== 200) return reject(new Error(`${url} answered ${response.statusCode}`))
      response.setEncoding('utf8').on('data', chunk => {
        received += chunk
        if (!waiting || !received.includes(`"${waiting.text}"`)) return
        received = ''
        waiting.done()
      })
      resolve(text => new Promise(done => (waiting = { text, done })))
    }).on('error', reject)
  })
}

function posted(url: string, headers: Record<string, string>, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    request(url, { method: 'POST', headers }, response => {
      if (response.statusCode !== 200 && response.statusCode !== 201) reject(new Error(`${response.statusCode}`))
      response.resume().on('end', resolve)
    })
      .on('error', reject)
      .end(body)
  })
}

/** Runs `walk` twice: once to count the functions it calls, once to see in which order it enters their files. */
async function walked(walk: () => Promise<unknown>): Promise<Walk> {
  await quiet()
  await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await inspector.post('Profiler.takePreciseCoverage')
  await walk()
  const { result } = await inspector.post('Profiler.takePreciseCoverage')
  await inspector.post('Profiler.stopPreciseCoverage')
  const called = (await Promise.all(result.filter(({ url }) => url.startsWith(built)).map(calledIn))).flat()
  await quiet()
  const order = await entryOrder(called, walk)
  const files = new Set([...order, ...called.map(({ file }) => file)])
  return {
    files: [...files],
    functions: called.length,
    calls: called.reduce((sum, { count }) => sum + count, 0),
    headReads: called
      .filter(({ file, name }) => file === 'stores/sqlite/read/directory.ts' && name === 'session')
      .reduce((sum, { count }) => sum + count, 0),
    iterators: called.filter(({ isIterator }) => isIterator).map(({ file, name }) => `${file} ${name}`),
  }
}

/** Lets pass what earlier calls left to do, such as housekeeping. */
function quiet(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, 300))
}

interface CalledFunction {
  file: string
  name: string
  count: number
  isIterator: boolean
  location: { scriptId: string; lineNumber: number; columnNumber: number }
}

/** The functions of one script that were called. The module itself does not count. */
async function calledIn({ scriptId, url, functions }: Profiler.ScriptCoverage): Promise<CalledFunction[]> {
  const { scriptSource } = await inspector.post('Debugger.getScriptSource', { scriptId })
  const path = fileURLToPath(url)
  if (!existsSync(`${path}.map`)) return []
  const sources = new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')))
  return functions.flatMap(({ functionName: name, ranges: [range] }) => {
    if (!range || range.count === 0 || range.startOffset === 0) return []
    const before = scriptSource.slice(0, range.startOffset).split('\n')
    const start = scriptSource.slice(range.startOffset, range.endOffset)
    const entry = sources.findEntry(before.length - 1, before.at(-1)!.length)
    if (!('originalSource' in entry) || entry.originalSource.includes('node_modules')) return []
    const file = relative(join(root, 'src'), resolve(dirname(path), entry.originalSource))
    const location = { scriptId, lineNumber: before.length - 1, columnNumber: before.at(-1)!.length }
    const isIterator =
      name === 'next' || (name === 'pull' && file.startsWith('server/')) || /^(async\s+)?(function)?\s*\*/.test(start)
    return [{ file, name, count: range.count, isIterator, location }]
  })
}

/** The files of the called functions in the order of their first call: breakpoints whose condition notes the file. */
async function entryOrder(called: readonly CalledFunction[], walk: () => Promise<unknown>): Promise<string[]> {
  const files = new Set<string>()
  Object.assign(globalThis, { walkEnters: (file: string) => void files.add(file) })
  await inspector.post('Debugger.enable')
  for (const { file, location } of called) {
    const condition = `walkEnters(${JSON.stringify(file)})`
    await inspector.post('Debugger.setBreakpoint', { location, condition }).catch(() => undefined)
  }
  await walk()
  await inspector.post('Debugger.disable')
  await inspector.post('Debugger.enable')
  return [...files]
}

function print(walks: Record<string, Walk>): void {
  const list = process.argv.includes('--list')
  for (const [name, { files, functions, calls, headReads, iterators }] of Object.entries(walks)) {
    console.log(
      `${name}: ${files.length} files, ${functions} functions, ${calls} calls, ${headReads} head reads, ${iterators.length} iterators`,
    )
    if (!list) continue
    for (const [index, file] of files.entries()) console.log(`  ${index + 1}. ${file}`)
    for (const iterator of iterators) console.log(`  iterator: ${iterator}`)
  }
}
