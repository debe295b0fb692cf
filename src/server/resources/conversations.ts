/** Conversations over HTTP. */
import { InvalidRequest } from '../../errors.ts'
import type { Handlers } from '../handler.ts'

export function conversationHandlers(): Handlers<'conversations'> {
  return {
    list: ({ colloquy, query }) => colloquy.conversations.listConversations(query),
    create: ({ colloquy, body, write }) => colloquy.conversations.createConversation(body, write),
    get: ({ colloquy, params }) => colloquy.conversations.getConversation(params.conversationId),
    describe: ({ colloquy, params, body, write }) =>
      colloquy.conversations.describe(params.conversationId, body, write),
    complete: ({ colloquy, params, body, write }) =>
      colloquy.conversations.complete(params.conversationId, body?.summary, write),
    reopen: ({ colloquy, params, body, write }) =>
      colloquy.conversations.reopen(params.conversationId, body?.reason, write),
    archive: ({ colloquy, params, body, write }) =>
      colloquy.conversations.archive(params.conversationId, body?.reason, write),
    restore: ({ colloquy, params, body, write }) =>
      colloquy.conversations.restore(params.conversationId, body?.reason, write),
    restoreArchive: ({ colloquy, body }) => colloquy.conversations.restoreLines(linesOf(body.archive)),
    async purge({ colloquy, params, body }) {
      if (body.confirm !== params.conversationId) {
        throw new InvalidRequest([{ field: 'body.confirm', message: 'must be the id of the conversation' }])
      }
      return colloquy.conversations.purge(params.conversationId, body.reason)
    },
    async events({ colloquy, params, query }) {
      const { limit = 100, backwards = false } = query
      const items = await colloquy.conversations.getEvents(params.conversationId, { ...query, limit: limit + 1 })
      if (items.length <= limit) return { items }
      items.pop()
      // The next page is the same question from (or, backwards, up to) here.
      const last = items.at(-1)!.version
      return { items, next: String(backwards ? last - 1 : last + 1) }
    },
    messages: async ({ colloquy, params, query }) => ({
      items: await colloquy.conversations.getMessages(params.conversationId, { limit: 100, ...query }),
    }),
    say: ({ colloquy, params, body, write }) => colloquy.conversations.addEvent(params.conversationId, body, write),
    message: ({ colloquy, params }) => colloquy.conversations.getMessage(params.messageId),
    pin: ({ colloquy, params, body, write }) => colloquy.conversations.pinMessage(params.messageId, body.pinned, write),
    erase: ({ colloquy, params, body }) => colloquy.conversations.erase(params.messageId, body?.reason),
    stats: ({ colloquy, params }) => colloquy.conversations.stats(params.conversationId),
    async at({ colloquy, params, query }) {
      const past = await colloquy.conversations.at(params.conversationId, params.version)
      const { version, conversation, sessions } = past
      return { version, conversation, sessions, messages: await past.messages({ limit: 100, ...query }) }
    },
    branch: ({ colloquy, params, body: { version, ...options } = {}, write }) =>
      colloquy.conversations.branch(params.conversationId, version, options, write),
    compare: ({ colloquy, params }) => colloquy.conversations.compare(params.conversationId, params.other),
    merge: ({ colloquy, params, body = {}, write }) => colloquy.conversations.merge(params.conversationId, body, write),
    async export({ colloquy, params }) {
      // A missing conversation is reported as such, which a stream that has begun could not do.
      await colloquy.conversations.getConversation(params.conversationId)
      return new Response(ReadableStream.from(bytesOf(colloquy.conversations.export(params.conversationId))), {
        headers: { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' },
      })
    },
  }
}

async function* linesOf(text: string): AsyncGenerator<string> {
  for (const line of text.split('\n')) if (line.trim() !== '') yield line
}

/** Sends many short lines as one piece: a write per line would cost more than reading it. */
const pieceCharacters = 64 * 1024

async function* bytesOf(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  let piece = ''
  for await (const line of lines) {
    piece += line.endsWith('\n') ? line : `${line}\n`
    if (piece.length < pieceCharacters) continue
    yield encoder.encode(piece)
    piece = ''
  }
  if (piece !== '') yield encoder.encode(piece)
}
