/** The queue of appends: proposals that come in one turn of the event loop share a transaction. */
import { StoreClosed } from '../../../errors.ts'
import type { Appended, Proposal } from '../../../log/event-log.ts'
import type { WriteQueue } from '../../../log/store.ts'
import { refuseInvalidText } from '../../common/proposal.ts'
import { isConstraint } from '../errors.ts'
import type { ReadEvents } from '../read/events.ts'
import type { Outcome } from './decide-batch.ts'
import { type RecordingInput, recordBatch, replay } from './record-batch.ts'

interface Waiting {
  proposal: Proposal
  resolve(appended: Appended): void
  reject(error: unknown): void
  /** Its batch failed; it is tried again without the others. */
  isAlone: boolean
}

export interface AppendQueueInput extends RecordingInput {
  read: ReadEvents
  /** The number of transactions that may be under way at once. */
  maxTransactions: number
  /** Called after each commit with the projects it wrote to, and the number of events. */
  committed(projects: ReadonlySet<string>, events: number): void
  /** Resolves when subscriptions that are finding out where they start have done so; nothing is written before. */
  started(): Promise<unknown> | undefined
}

/** More in one transaction would hold its conversations for too long. */
const maxProposals = 256

export class AppendQueue {
  readonly #input: AppendQueueInput
  #queue: Waiting[] = []
  /** The most that waited since `size` was last called. */
  #most = 0
  #underWay = 0
  #isScheduled = false
  #isClosed = false
  #whenIdle: (() => void) | undefined

  constructor(input: AppendQueueInput) {
    this.#input = input
  }

  append(proposal: Proposal): Promise<Appended> {
    if (this.#isClosed) return Promise.reject(new StoreClosed())
    try {
      refuseInvalidText(proposal)
    } catch (error) {
      return Promise.reject(error)
    }
    return new Promise<Appended>((resolve, reject) => {
      this.#queue.push({ proposal, resolve, reject, isAlone: false })
      this.#most = Math.max(this.#most, this.#queue.length)
      this.#schedule()
    })
  }

  size(): WriteQueue {
    const waiting = this.#queue.length
    const most = this.#most
    this.#most = waiting
    return { waiting, most }
  }

  /** Resolves when nothing is waiting any more; refuses what comes later. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#queue.length > 0 || this.#underWay > 0) await new Promise<void>(resolve => (this.#whenIdle = resolve))
  }

  #schedule(): void {
    if (this.#isScheduled || this.#underWay >= this.#input.maxTransactions || this.#queue.length === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#flush()
    })
  }

  #flush(): void {
    if (this.#queue.length === 0 || this.#underWay >= this.#input.maxTransactions) return
    const taken = this.#take()
    this.#underWay++
    this.#record(taken).finally(() => {
      this.#underWay--
      if (this.#queue.length > 0) this.#schedule()
      else if (this.#underWay === 0) this.#whenIdle?.()
    })
    this.#schedule()
  }

  /** The proposals of the next transaction: one that must be alone, or all before the next such. */
  #take(): Waiting[] {
    const alone = this.#queue.findIndex(waiting => waiting.isAlone)
    return this.#queue.splice(0, alone === 0 ? 1 : Math.min(maxProposals, alone < 0 ? maxProposals : alone))
  }

  async #record(taken: readonly Waiting[]): Promise<void> {
    try {
      await this.#input.started()
      const outcomes = await recordBatch(
        this.#input,
        taken.map(({ proposal }) => proposal),
      )
      this.#tell(outcomes)
      for (const [index, waiting] of taken.entries()) this.#answer(waiting, outcomes[index])
      this.#queue.unshift(...taken.filter((_, index) => !outcomes[index]))
    } catch (error) {
      // One bad write must not take the others with it; and a row that was in the way may be gone by now.
      const mayPass = isConstraint((error as Error).cause) && !taken[0]!.isAlone
      if (mayPass) this.#queue.unshift(...taken.map(waiting => ({ ...waiting, isAlone: true })))
      else for (const waiting of taken) waiting.reject(error)
    }
  }

  #tell(outcomes: ReadonlyArray<Outcome | undefined>): void {
    const projects = new Set<string>()
    let count = 0
    for (const outcome of outcomes) {
      if (outcome?.kind !== 'appended') continue
      for (const { project } of outcome.appended.events) projects.add(project)
      count += outcome.appended.events.length
    }
    if (count > 0) this.#input.committed(projects, count)
  }

  #answer({ proposal, resolve, reject }: Waiting, outcome: Outcome | undefined): void {
    if (outcome?.kind === 'appended') resolve(outcome.appended)
    else if (outcome?.kind === 'refused') reject(outcome.error)
    else if (outcome) replay(this.#input, proposal, outcome.used).then(resolve, reject)
  }
}
