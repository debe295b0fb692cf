/**
 * Erases a message, and with it the copies that nobody would think of: what was looked up because it referred to it, and
 * what checkpoints say of it, in its conversation and in branches that share it.
 */
import { checkpointWithout } from '../compaction/without-message.ts'
import type { Engine, Scope } from '../engine.ts'
import { NotFound, VersionConflict } from '../errors.ts'
import type { RecordedEvent } from '../events/recorded.ts'
import type { Copies } from '../log/rewritten.ts'
import type { Erased } from '../log/upkeep.ts'
import { partsText } from '../request/part-text.ts'
import type { Message } from '../views/message.ts'

export interface ErasedMessage extends Erased {
  /** Versions of the contents of its references, erased with it. */
  contents: number[]
  /** Checkpoints that said something of it and were written anew. */
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
  // The message last: whoever is cut off before asks again and finds the rest.
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
    for (const branch of await branchesWith(conversationId, one.version)) await rewriteIn(branch.id, branch.from)
    // Programs of before left checkpoints as they were: erasing once more sees to those.
    if (one.missing?.because === 'erased' && (await rewriteIn(conversationId))) {
      const archives = (await store.purges(project)).filter(purge => purge.conversationId === conversationId)
      return {
        conversationId,
        version: one.version,
        archives: archives.map(({ archive }) => archive),
        checkpoints: changed,
      }
    }
    const erased = await withCopies(conversationId, copies => store.erase({ ...request, messageId: one.id, copies }))
    return { ...erased, checkpoints: changed }

    async function rewriteIn(id: string, from = one.version): Promise<boolean> {
      const target = { id: one.id, version: one.version }
      const rewrite = async (copies: Copies) => {
        if (copies.facts.length === 0) return false
        await store.rewrite({ ...request, conversationId: id, message: target, copies })
        return true
      }
      return withCopies(id, rewrite, from)
    }

    /** Looked for again if another checkpoint came meanwhile. */
    async function withCopies<T>(id: string, work: (copies: Copies) => Promise<T>, from = one.version): Promise<T> {
      for (;;) {
        const copies = await copiesOf(one, id, from)
        try {
          const done = await work(copies)
          changed.push(...copies.facts.map(fact => ({ conversationId: id, version: fact.version })))
          return done
        } catch (error) {
          if (!(error instanceof VersionConflict)) throw error
        }
      }
    }
  }

  /** The facts of a conversation that repeat the message, as they should be instead. */
  async function copiesOf({ version, parts }: Message, id: string, from: number): Promise<Copies> {
    const text = partsText(parts)
    const facts: Array<Copies['facts'][number]> = []
    let upTo = from
    for await (const { version: at, event } of factsAfter(id, from)) {
      upTo = at
      const checkpoint = event.type === 'checkpoint.taken' && checkpointWithout(event.checkpoint, { version, text })
      if (checkpoint) facts.push({ version: at, event: { ...event, checkpoint } })
    }
    return { upTo, facts }
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
    for await (const { event } of factsAfter(conversationId, version)) {
      if (event.type === 'reference.resolved' && event.of === version) found.push(event)
    }
    return found
  }

  async function* factsAfter(id: string, after: number): AsyncGenerator<RecordedEvent> {
    for (let from = after + 1; ; ) {
      const page = await store.read({ project, conversationId: id, from, limit: pageSize, facts: true })
      yield* page
      const last = page.at(-1)
      if (page.length < pageSize || !last) return
      from = last.version + 1
    }
  }
}
