/** Branches of a conversation: created by reference, compared, and merged by their conclusion. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { IllegalState, InvalidInput } from '../../errors.ts'
import * as command from '../../log/commands/conversation.ts'
import { parseInput } from '../../log/commands/input.ts'
import { addToConversation } from '../../log/commands/message.ts'
import { checkWrite, type Engine, given, type Scope, type WriteOptions } from '../../log/engine.ts'
import type { BranchPoint } from '../../log/events/conversation.ts'
import { laneKinds } from '../../log/records/lane.ts'
import type { StoreCalls } from '../../log/store.ts'
import { type ConversationHead, type ConversationInfo, inheritedInfo } from '../../log/views/conversation.ts'
import type { Message } from '../../log/views/message.ts'
import { everything } from '../../log/visibility.ts'
import { pastHeads } from '../access/heads-at.ts'
import { recordedMessage, type Scribe } from '../access/prepare-message.ts'

export interface BranchOptions {
  /** Default: the parent's title and the version. */
  title?: string
  tracingId?: string
}

/** One side of a comparison, since the common version. */
export interface Since {
  conversationId: string
  title: string
  version: number
  messages: number
  tokens: number
  /** The newest of its messages since then, oldest first. */
  newest: Message[]
}

export interface Comparison {
  /** The newest version the two share. */
  common: BranchPoint
  left: Since
  right: Since
  /** Fields of the heads that differ. */
  differences: Array<{ field: string; left: unknown; right: unknown }>
}

export interface Branches {
  branch(
    from: ConversationHead,
    /** Default: the newest. */
    version: number | undefined,
    options: BranchOptions,
    write?: WriteOptions,
  ): Promise<ConversationHead>
  compare(left: ConversationHead, right: ConversationHead): Promise<Comparison>
  merge(
    branch: ConversationHead,
    options: { conclusion?: string; author?: string },
    write?: WriteOptions,
  ): Promise<Message>
}

const BranchInput = z.strictObject({ title: z.string().optional(), tracingId: z.string().optional() })
const MergeInput = z.strictObject({ conclusion: z.string().optional(), author: z.string().optional() })

export function branches({ engine, scope, scribe }: { engine: Engine; scope: Scope; scribe: Scribe }): Branches {
  const { store } = engine
  const { project } = scope

  /** The conversation, the one it branches off, and so on, each up to the version that belongs to the line. */
  async function lineOf(head: ConversationHead): Promise<BranchPoint[]> {
    const line: BranchPoint[] = [{ conversationId: head.info.id, version: head.version }]
    let { branchOf } = head.info
    while (branchOf) {
      line.push(branchOf)
      branchOf = (await store.conversation(project, branchOf.conversationId))?.info.branchOf
    }
    return line
  }

  async function common(left: ConversationHead, right: ConversationHead): Promise<BranchPoint> {
    const others = new Map((await lineOf(right)).map(piece => [piece.conversationId, piece.version]))
    for (const { conversationId, version } of await lineOf(left)) {
      const other = others.get(conversationId)
      if (other !== undefined) return { conversationId, version: Math.min(version, other) }
    }
    throw new IllegalState(
      `${left.info.id} and ${right.info.id} have no common version: they are not branches of one conversation.`,
    )
  }

  async function since({ info, version }: ConversationHead, start: number): Promise<Since> {
    const { id: conversationId, title, branchOf } = info
    const window = { project, conversationId, viewer: everything, kinds: laneKinds, start, kept: [] }
    const line = { ...window, ...(branchOf && { branchOf }) }
    const [sums, newest] = await Promise.all([store.measure(line), store.messages(line, { limit: 20 })])
    return { conversationId, title, version, messages: sums.messages, tokens: sums.tokens, newest }
  }

  return {
    async branch(from, requestedVersion, options, write) {
      const { title, tracingId } = parseInput(BranchInput, options)
      const { info } = from
      const version = requestedVersion ?? from.version
      const past =
        version === from.version
          ? from
          : (await pastHeads(store, { project, conversationId: info.id, version })).conversation
      // A branch of a branch before its branch point is a branch of the parent.
      const branchOf: BranchPoint = { conversationId: past.info.id, version }
      const id = engine.newId()
      const workItem = { type: 'thread' as const, threadId: id }
      const { conversation } = await engine.execute(scope, {
        conversation: { id, workItem },
        decide: command.createConversation({
          title: title ?? `${info.title} (from version ${version})`,
          workItem,
          ...(tracingId !== undefined && { tracingId }),
          metadata: past.info.metadata,
          branchOf,
          inherits: inheritedInfo(past.info),
        }),
        options: write,
        // The version as the caller gave it: under a key it is the same call after the conversation went on.
        asked: ['branch', info.id, requestedVersion, title, ...given(tracingId)],
      })
      return conversation!
    },

    async compare(left, right) {
      const point = await common(left, right)
      const [leftSince, rightSince] = await Promise.all([since(left, point.version), since(right, point.version)])
      return { common: point, left: leftSince, right: rightSince, differences: differences(left.info, right.info) }
    },

    async merge(branch, options, write) {
      const { conclusion, author } = parseInput(MergeInput, options)
      checkWrite(write)
      const { id, title, branchOf, summary } = branch.info
      if (!branchOf)
        throw new IllegalState(`Conversation ${id} is not a branch, so it cannot be merged. Nothing was written.`)
      const text = conclusion ?? summary ?? (await lastAnswer(store, branch))
      if (text === undefined) {
        throw new InvalidInput('conclusion', 'required, because the branch has no summary and no answer yet')
      }
      const identity = (author ?? 'user') === 'user' ? text : JSON.stringify([text, author])
      const prepared = await scribe.prepare({
        role: 'user',
        author: author ?? 'user',
        content: text,
        metadata: { mergedFrom: { conversationId: id, version: branch.version, title } },
      })
      const appended = await engine.execute(scope, {
        conversation: { id: branchOf.conversationId },
        decide: addToConversation(branchOf.conversationId, prepared),
        // Once, even if the process ends before the second write and the caller repeats the call.
        options: { ...write, idempotencyKey: write?.idempotencyKey ?? `merge ${id} ${digestOf(identity)}` },
        // Under a key of the caller it is the same call even if the branch has another answer by then.
        asked: write?.idempotencyKey === undefined ? ['merge', id, text] : ['merge', id, conclusion, ...given(author)],
      })
      const message = recordedMessage(appended)
      if (appended.replayed && (await isMergedSince(store, branch, message))) return message
      await engine.execute(scope, {
        conversation: { id },
        decide: command.recordMerge(id, { into: branchOf.conversationId, messageId: message.id }),
        asked: [],
      })
      return message
    },
  }
}

/** True if the branch records a newer conclusion than this one, so that its merge needs no second attempt. */
async function isMergedSince(store: StoreCalls, branch: ConversationHead, { version }: Message): Promise<boolean> {
  const { project, id } = branch.info
  const { mergedInto } = (await store.conversation(project, id))?.info ?? {}
  const newest = mergedInto && (await store.message(project, mergedInto.messageId))
  return newest !== undefined && newest.version > version
}

async function lastAnswer(store: StoreCalls, { info }: ConversationHead): Promise<string | undefined> {
  const { project, id: conversationId, branchOf } = info
  const kinds = ['talk'] as const
  const window = { project, conversationId, viewer: everything, kinds, start: branchOf?.version ?? 0, kept: [] }
  const newest = await store.messages(window, { limit: 50 })
  return newest.findLast(message => message.role === 'assistant' && message.content !== '')?.content
}

/** Fields that differ between any two conversations. */
const ownFields: ReadonlySet<string> = new Set(['id', 'project', 'title', 'workItem', 'createdAt', 'branchOf'])

function differences(left: ConversationInfo, right: ConversationInfo): Comparison['differences'] {
  const of = (info: ConversationInfo, field: string) => (info as unknown as Record<string, unknown>)[field]
  return [...new Set([...Object.keys(left), ...Object.keys(right)])]
    .filter(field => !ownFields.has(field) && JSON.stringify(of(left, field)) !== JSON.stringify(of(right, field)))
    .sort()
    .map(field => ({ field, left: of(left, field), right: of(right, field) }))
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
