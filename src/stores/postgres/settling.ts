/** What becomes of those who waited for a call: its answer, an earlier one under the same key, a refusal, or another try. */
import { ConversationPurged, KeyReused, LeaseLost } from '../../errors.ts'
import type { Appended, Proposal } from '../../log/event-log.ts'
import { isSameCall, missedBy } from '../common/proposal.ts'
import { type Draft, placeEvents } from './append.ts'
import type { Database } from './database.ts'
import type { HeadStore } from './heads.ts'
import type { Batch, Refusal } from './insert-events.ts'
import type { Place } from './position.ts'
import type { Projects } from './projects.ts'
import type { ReadEvents } from './read.ts'
import type { Group, Waiting } from './waiting.ts'

/** What the server said to a call. */
export interface Sent {
  tx: number
  refused: Refusal[]
  /** An earlier sending of the same call may have been committed. */
  isRepeated: boolean
}

export interface SettlingInput {
  database: Database
  heads: HeadStore
  projects: Projects
  epoch: string
  read: ReadEvents
  isHeld(project: number, fence: { name: string; generation: number }): Promise<boolean>
  /** Where it was archived when it was purged, if it was. */
  purgedArchive(project: number, conversationId: string): Promise<string | undefined>
  /** Called after each commit with the projects it wrote to, and how many events. */
  committed(projects: ReadonlySet<string>, events: number): void
}

export function settling(
  { database, heads, projects, epoch, read, isHeld, purgedArchive, committed }: SettlingInput,
  /** Back to the front of the queue, to be decided on heads that are read for it. */
  again: (waiting: readonly Waiting[]) => void,
) {
  /** Nothing was to be written for a group: refusals made on heads that were read for them are told. */
  function tellRefused(group: Group): void {
    if (group.fresh) for (const { answer } of group.members) answer()
    else again(group.members.map(member => member.waiting))
  }

  async function settle(batch: Batch, groups: readonly Group[], sent: Sent): Promise<void> {
    const written = new Set<string>()
    const sentGroups = batch.groups.length < groups.length ? new Set(batch.groups.map(group => group.g)) : undefined
    let events = 0
    for (const group of groups) {
      const { draft: one } = group
      if (sentGroups && !sentGroups.has(one.g)) {
        tellRefused(group)
        continue
      }
      const refusals = sent.refused.length === 0 ? [] : sent.refused.filter(refusal => refusal.g === one.g)
      let placeOf: ((n: number) => Place) | undefined = n => ({ tx: sent.tx, n })
      if (refusals.length > 0) placeOf = sent.isRepeated ? await placeOfEarlier(one) : undefined
      if (!placeOf) {
        await refuse(group, refusals)
        continue
      }
      placeEvents(one, epoch, placeOf)
      if (one.entry && one.recorded.length > 0) {
        heads.keep(one.entry)
        written.add(one.project)
        events += one.recorded.length
      }
      for (const { answer } of group.members) answer()
    }
    if (written.size > 0) committed(written, events)
  }

  /** Where the events stand if an earlier sending was committed after all: its hash is nobody else's. */
  async function placeOfEarlier({ numbers, recorded }: Draft): Promise<((n: number) => Place) | undefined> {
    const last = recorded.at(-1)
    if (!last) return undefined
    const [row] = await database.read<[number, number, string]>(
      `select tx, n, encode(hash, 'hex') from events where project = $1 and conversation = $2 and version = $3`,
      [numbers.project, numbers.conversation, last.event.version],
    )
    if (row?.[2] !== last.event.hash) return undefined
    const [tx, lastPlace] = row
    return n => ({ tx, n: n - last.n + lastPlace })
  }

  async function refuse({ draft: one, members }: Group, refusals: readonly Refusal[]): Promise<void> {
    heads.forget(one.project, one.id)
    const usedKeys = new Set(refusals.filter(({ why }) => why === 'key').map(({ what }) => what))
    const lost = new Set(refusals.filter(({ why }) => why === 'fence').map(({ what }) => what))
    const rest: Waiting[] = []
    for (const { waiting } of members) {
      const { once, fence } = waiting.proposal
      if (once && usedKeys.has(once.key)) {
        await replay(waiting.proposal, one.numbers.project).then(waiting.resolve, waiting.reject)
      } else if (fence && lost.has(`${fence.name} ${fence.generation}`)) waiting.reject(new LeaseLost(fence))
      else rest.push(waiting)
    }
    again(rest.map(waiting => ({ ...waiting, at: { project: one.project, id: one.id } })))
  }

  /**
   * A key that was used before and a lease that is lost count before whatever the decision says; and of a conversation that
   * is not there, that it was purged.
   */
  function refuseLast(waiting: Waiting, error: unknown): void {
    const { proposal } = waiting
    const { project, once, fence } = proposal
    const number = projects.known(project)
    const conversationId = missedBy(proposal, error)
    if ((!once && !fence && conversationId === undefined) || number === undefined) {
      waiting.reject(error)
      return
    }
    const look = async () => {
      if (once && (await isUsed(number, once.key))) return replay(proposal, number)
      if (fence && !(await isHeld(number, fence))) throw new LeaseLost(fence)
      const archive = conversationId === undefined ? undefined : await purgedArchive(number, conversationId)
      throw conversationId !== undefined && archive !== undefined
        ? new ConversationPurged({ conversationId, archive })
        : error
    }
    look().then(waiting.resolve, waiting.reject)
  }

  /** Nothing is to be written for it. A lease that is lost counts all the same. */
  function answerUnwritten(waiting: Waiting, appended: Appended): void {
    const { project, fence } = waiting.proposal
    if (!fence) {
      waiting.resolve(appended)
      return
    }
    const look = async () => {
      const number = projects.known(project)
      if (number === undefined || !(await isHeld(number, fence))) throw new LeaseLost(fence)
      return appended
    }
    look().then(waiting.resolve, waiting.reject)
  }

  async function isUsed(project: number, key: string): Promise<boolean> {
    const [row] = await database.read<[boolean]>('select exists (select 1 from keys where project = $1 and key = $2)', [
      project,
      key,
    ])
    return row![0]
  }

  /** What the same key recorded before. */
  async function replay({ project, once }: Proposal, number: number): Promise<Appended> {
    const [found] = await database.read<[string, string, number, number, string | null]>(
      `select digest, conversation_id, first_version, last_version, session_id from keys where project = $1 and key = $2`,
      [number, once!.key],
    )
    const [digest, conversationId, first, last, sessionId] = found!
    if (!isSameCall(digest, once!)) throw new KeyReused(once!.key)
    const [{ entry, session } = { entry: undefined, session: undefined }] = await heads.load(database.read, [
      {
        proposal: {
          project,
          conversation: { id: conversationId },
          ...(sessionId !== null && { session: { id: sessionId } }),
        } as Proposal,
        number,
      },
    ])
    if (!entry) {
      const archive = await purgedArchive(number, conversationId)
      // A key that recorded nothing may be of a conversation that never was.
      if (archive !== undefined || last >= first)
        throw new ConversationPurged({ conversationId, archive: archive ?? 'unknown' })
    }
    const events =
      entry && last >= first
        ? await read({ project, conversationId, from: first, to: last, limit: last - first + 1 })
        : []
    return { conversation: entry?.head, session, events, replayed: true }
  }

  return { settle, tellRefused, refuseLast, answerUnwritten }
}
