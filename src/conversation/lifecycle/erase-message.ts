/**
 * Erases a message with its copies: the contents of its references, and the items of checkpoints that come from it, in
 * its conversation and in branches that share it.
 */

import { NotFound, VersionConflict } from '../../errors.ts'
import type { Engine, Scope } from '../../log/engine.ts'
import type { Origin, RecordedEvent } from '../../log/events/recorded-event.ts'
import type { Copies } from '../../log/records/erased-copies.ts'
import type { StoreCalls } from '../../log/store.ts'
import type { Erased } from '../../log/upkeep.ts'
import type { ConversationHead } from '../../log/views/conversation.ts'
import type { Message } from '../../log/views/message.ts'
import { checkpointWithout } from '../../request/compaction/without-message.ts'
import { partsText } from '../../request/text/part-text.ts'

export interface ErasedMessage extends Erased {
  /** Versions of the contents of its references, erased with it. */
  contents: number[]
  /** Checkpoints that were rewritten without it. */
  checkpoints: Array<{ conversationId: string; version: number }>
}

const pageSize = 1000

export async function eraseMessage(
  { store }: Engine,
  { project, ...origin }: Scope,
  messageId: string,
  reason?: string,
): Promise<ErasedMessage> {
  const message = await store.message(project, messageId)
  if (!message) throw new NotFound('message', messageId)
  const request = { project, origin, ...(reason !== undefined && { reason }) }
  const contents: number[] = []
  const checkpoints: ErasedMessage['checkpoints'] = []
  const { conversationId, version } = message
  // The message last, so that a repeated call after a crash finds the rest.
  for (const content of message.missing ? [] : await contentsOf()) {
    const found = await store.message(project, content.messageId)
    if (!found || found.missing) continue
    checkpoints.push(...(await eraseOne(found)).checkpoints)
    contents.push(content.version)
  }
  const erased = await eraseOne(message)
  return { ...erased, contents, checkpoints: [...checkpoints, ...erased.checkpoints] }

  async function eraseOne(one: Message): Promise<Erased & Pick<ErasedMessage, 'checkpoints'>> {
    const changed: ErasedMessage['checkpoints'] = []
    const archives: string[] = []
    const target = { id: one.id, version: one.version, text: partsText(one.parts) }
    for (const branch of await branchesWith(conversationId, one.version)) await rewriteIn(branch.id, branch.from)
    // A repeated call rewrites checkpoints that a crash left as they were.
    if (one.missing?.because === 'erased' && (await rewriteIn(conversationId))) {
      return { conversationId, version: one.version, archives, checkpoints: changed }
    }
    const erase = async (copies: Copies) => {
      const erased = await store.erase({ ...request, messageId: one.id, copies })
      return { erased, facts: copies.facts }
    }
    const { erased, facts } = await withCopies(store, project, { id: conversationId, from: one.version }, target, erase)
    note(conversationId, facts)
    return { ...erased, archives: [...erased.archives, ...archives], checkpoints: changed }

    async function rewriteIn(id: string, from = one.version): Promise<boolean> {
      const done = await rewritten(store, request, { id, from }, target)
      note(id, done.facts)
      archives.push(...done.archives)
      return done.facts.length > 0
    }

    function note(id: string, facts: Copies['facts']): void {
      changed.push(...facts.map(fact => ({ conversationId: id, version: fact.version })))
    }
  }

  /** Branches that share the message, and theirs, each from where it leaves its parent. */
  async function branchesWith(parent: string, shared: number): Promise<Array<{ id: string; from: number }>> {
    const found: Array<{ id: string; from: number }> = []
    for (let cursor: string | undefined; ; ) {
      const page = await store.conversations({ project, branchesOf: parent, ...(cursor !== undefined && { cursor }) })
      for (const { info } of page.items) {
        if (!info.branchOf || info.branchOf.version < shared) continue
        found.push({ id: info.id, from: info.branchOf.version }, ...(await branchesWith(info.id, shared)))
      }
      if (page.next === undefined) return found
      cursor = page.next
    }
  }

  async function contentsOf(): Promise<Array<{ messageId: string; version: number }>> {
    const found: Array<{ messageId: string; version: number }> = []
    for await (const { event } of factsAfter(store, { project, conversationId }, version)) {
      if (event.type === 'reference.resolved' && event.of === version) found.push(event)
    }
    return found
  }
}

/**
 * Rewrites the checkpoints of a restored branch that quote messages erased in its parents meanwhile. Returns true if
 * there were any.
 */
export async function takeOutErased(
  { store }: Engine,
  { project, ...origin }: Scope,
  { info }: ConversationHead,
): Promise<boolean> {
  let isChanged = false
  let shared = Number.MAX_SAFE_INTEGER
  for (let { branchOf } = info; branchOf; ) {
    const { conversationId } = branchOf
    shared = Math.min(shared, branchOf.version)
    const parent = await store.conversation(project, conversationId)
    // A parent without erasures is not read.
    const isErased = parent?.info.erasedAt !== undefined
    for await (const { event } of isErased ? factsAfter(store, { project, conversationId }, 0) : []) {
      if (event.type !== 'message.erased' || event.version > shared) continue
      const { messageId: id, version, reason } = event
      const request = { project, origin, ...(reason !== undefined && { reason }) }
      const place = { id: info.id, from: info.branchOf!.version }
      const { facts } = await rewritten(store, request, place, { id, version, text: '' })
      isChanged ||= facts.length > 0
    }
    branchOf = parent?.info.branchOf
  }
  return isChanged
}

interface Place {
  id: string
  /** Version where it leaves its parent, or of the message. */
  from: number
}

interface Target {
  id: string
  version: number
  /** Its text, if the content is still there. */
  text: string
}

/** Rewrites the checkpoints of a conversation that have items from the message. */
function rewritten(
  store: StoreCalls,
  request: { project: string; origin: Origin; reason?: string },
  place: Place,
  message: Target,
): Promise<{ facts: Copies['facts']; archives: string[] }> {
  const { id, version } = message
  return withCopies(store, request.project, place, message, async copies => {
    const { facts } = copies
    if (facts.length === 0) return { facts, archives: [] }
    const archives = await store.rewrite({ ...request, conversationId: place.id, message: { id, version }, copies })
    return { facts, archives }
  })
}

/** Looked for again if another checkpoint came meanwhile. */
async function withCopies<T>(
  store: StoreCalls,
  project: string,
  place: Place,
  message: Target,
  work: (copies: Copies) => Promise<T>,
): Promise<T> {
  for (;;) {
    const copies = await copiesOf(store, project, place, message)
    try {
      return await work(copies)
    } catch (error) {
      if (!(error instanceof VersionConflict)) throw error
    }
  }
}

/** The facts of a conversation that repeat the message, as they should be instead. */
async function copiesOf(store: StoreCalls, project: string, { id, from }: Place, message: Target): Promise<Copies> {
  const facts: Array<Copies['facts'][number]> = []
  let upTo = from
  for await (const { version: at, event } of factsAfter(store, { project, conversationId: id }, from)) {
    upTo = at
    const checkpoint = event.type === 'checkpoint.taken' && checkpointWithout(event.checkpoint, message)
    if (checkpoint) facts.push({ version: at, event: { ...event, checkpoint } })
  }
  return { upTo, facts }
}

async function* factsAfter(
  store: StoreCalls,
  of: { project: string; conversationId: string },
  after: number,
): AsyncGenerator<RecordedEvent> {
  for (let from = after + 1; ; ) {
    const page = await store.read({ ...of, from, limit: pageSize, facts: true })
    yield* page
    const last = page.at(-1)
    if (page.length < pageSize || !last) return
    from = last.version + 1
  }
}
