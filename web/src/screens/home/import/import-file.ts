/**
 * Imports a file as a conversation. An archive of this project is restored with every hash checked; from other formats
 * the messages are taken into a new conversation. The result names what was imported and what was not.
 */
import { ApiError, type Client } from 'colloquy/client'
import { counted } from '../../../format.ts'
import { type ReadFile, readFile } from './read-file.ts'

interface Imported {
  conversationId: string
  /** Summary of what was imported and what was not. */
  note: string
}

/** The import stopped halfway. Messages written until then are kept. */
export class ImportCutShort extends Error {
  readonly conversationId: string

  constructor({
    conversationId,
    done,
    of,
    cause,
  }: { conversationId: string; done: number; of: number; cause: unknown }) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(`It was broken off: ${done} of ${counted(of, 'message')} came along and are kept. ${why}`, { cause })
    this.conversationId = conversationId
  }
}

/**
 * @throws {SyntaxError} when the file cannot be read; nothing was written
 * @throws {ImportCutShort} when it was imported in part
 */
export async function importFile(
  { client, project, mayRestore }: { client: Client; project: string; mayRestore: boolean },
  file: File,
  onProgress: (done: number, of: number) => void,
): Promise<Imported> {
  const text = await textOf(file)
  const read = readFile(text)
  if (read.archive?.project === project && mayRestore) return restored(client, text, read.archive.conversationId)
  if (read.messages.length === 0) throw new SyntaxError(nothingIn(file.name, read))
  return written(client, file.name, read, onProgress)
}

/** Reads plain and gzipped files; `colloquy export --output x.jsonl.gz` writes the latter. */
async function textOf(file: File): Promise<string> {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer())
  if (first !== 0x1f || second !== 0x8b) return file.text()
  return new Response(file.stream().pipeThrough(new DecompressionStream('gzip'))).text()
}

async function restored(client: Client, archive: string, conversationId: string): Promise<Imported> {
  try {
    const { id, version } = await client.conversations.restoreArchive({ body: { archive } })
    return { conversationId: id, note: `It is back as it was: ${counted(version, 'event')}, every hash checked.` }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.status === 413) throw new Error(`${error.message} \`colloquy restore FILE\` takes archives of any size.`)
    if (!error.message.includes('is there already')) throw error
    return { conversationId, note: 'It is there already; nothing was changed.' }
  }
}

async function written(
  client: Client,
  name: string,
  { title, messages, problems, aside, archive }: ReadFile,
  onProgress: (done: number, of: number) => void,
): Promise<Imported> {
  const session = await client.sessions.getOrCreate({
    body: { type: 'thread', threadId: crypto.randomUUID(), agentType: 'assistant', title: title ?? name },
  })
  const { id: sessionId, conversationId } = session
  const of = messages.length
  for (const [done, message] of messages.entries()) {
    onProgress(done, of)
    try {
      await client.sessions.addMessage({ sessionId, body: message })
    } catch (cause) {
      throw new ImportCutShort({ conversationId, done, of, cause })
    }
  }
  const notes = [
    `${counted(of, 'message')} came along.`,
    ...(archive ? [`It is of project ${archive.project}, so it is a new conversation without the hashes.`] : []),
    ...(problems.length > 0 ? [`${counted(problems.length, 'entry', 'entries')} did not: ${some(problems)}.`] : []),
    ...(aside > 0 ? [`${counted(aside, 'message')} on other lines stayed behind.`] : []),
  ]
  return { conversationId, note: notes.join(' ') }
}

function nothingIn(name: string, { problems, isBeads }: ReadFile): string {
  if (isBeads) return `${name} has issues of beads, and no messages: \`colloquy bead import FILE\` takes them as work.`
  const found = problems.length > 0 ? ` (${some(problems)})` : ''
  return `${name} has no messages${found}. A message has a role (user, assistant, system) and a content. Nothing was brought along.`
}

function some(problems: readonly string[]): string {
  const more = problems.length - 3
  return `${problems.slice(0, 3).join('; ')}${more > 0 ? `; and ${more} more` : ''}`
}
