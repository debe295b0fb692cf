/**
 * Copies one project: puts what is missing, reads all of it back, compares, and only then gives it its name.
 *
 * Interrupted anywhere, it goes on where it was: what is there already is compared with its source first. Where the source
 * has changed what it had said before, because something was erased or purged meanwhile, the copy begins again.
 */
import { createHash } from 'node:crypto'
import { IllegalState, StoreDamaged, StoreUnusable } from '../../errors.ts'
import {
  type CopiedEvent,
  type CopyableStore,
  type CopyableTarget,
  type CopyCounts,
  type CopySource,
  type CopyTarget,
  copyPageSize,
  recordLine,
} from './copy.ts'

export type CopyPhase = 'copying' | 'comparing'

export interface CopiedProject extends CopyCounts {
  project: string
  /** SHA-256 over every record, the same on both sides. */
  digest: string
  /** Events that an interrupted copy had brought over before. */
  resumedAt: number
  /** It was all there before this copy began. */
  wasThere: boolean
}

export interface CopyProjectInput {
  from: CopyableStore
  to: CopyableTarget
  project: string
  /** Gives up what an interrupted copy had brought over. */
  restart?: boolean
  onProgress?: (phase: CopyPhase, done: number, total: number) => void
}

/**
 * @throws {StoreUnusable} when the source has no such project
 * @throws {IllegalState} when the target has data of its own for it
 * @throws {StoreDamaged} when the target does not give back what was put into it
 */
export async function copyProject(input: CopyProjectInput): Promise<CopiedProject> {
  const { from, to, project, restart = false, onProgress } = input
  if (restart) await to.discard(project)
  return from.snapshot(project, async source => {
    const counts = await source.counts()
    if (!counts) {
      const projects = await from.projects()
      const hint = projects.length === 0 ? 'It has none.' : `It has: ${projects.join(', ')}.`
      throw new StoreUnusable(`There is no project "${project}" in ${from.name}. ${hint}`, { project, projects })
    }
    const total = counts.events
    const report = (phase: CopyPhase) => (done: number) => onProgress?.(phase, done, total)
    const beginning = { epoch: from.epoch, createdAt: await source.createdAt(), purges: await source.purges() }
    let target: CopyTarget
    try {
      target = await to.begin(project, beginning)
    } catch (error) {
      if (!(error instanceof IllegalState)) throw error
      const digest = await digestIfSame(source, to, { project, counts, report: report('comparing') })
      if (digest === undefined) throw error
      return { project, ...counts, digest, resumedAt: 0, wasThere: true }
    }
    if (!(await isAsBefore(source, target))) {
      await to.discard(project)
      target = await to.begin(project, beginning)
    }
    const resumedAt = target.done
    await putAll(source, target, report('copying'))
    const digest = await digestOf(source, () => undefined)
    const there = await target.readBack(copied => digestOf(copied, report('comparing')))
    if (there !== digest) {
      throw new StoreDamaged(
        `Project "${project}" reads differently in ${to.name} than in ${from.name}. It was not published; copy it again with --restart.`,
        { project, from: digest, to: there },
      )
    }
    await target.publish()
    return { project, ...counts, digest, resumedAt, wasThere: false }
  })
}

/** Whether what an interrupted copy brought over is still what the source says. */
async function isAsBefore(source: CopySource, target: CopyTarget): Promise<boolean> {
  return target.readBack(async copied => {
    const purges = await Promise.all([source, copied].map(async one => (await one.purges()).map(recordLine.purge)))
    if (purges[0]!.join() !== purges[1]!.join()) return false
    if (target.done === 0) return true
    const now = eachOf(source.events())
    let left = target.done
    for await (const event of eachOf(copied.events())) {
      const { value } = await now.next()
      if (!value || recordLine.event(value as CopiedEvent) !== recordLine.event(event)) return false
      if (--left === 0) return true
    }
    return false
  })
}

async function putAll(source: CopySource, target: CopyTarget, report: (done: number) => void): Promise<void> {
  for await (const page of source.conversations()) await target.putConversations(page)
  let passed = 0
  let page: CopiedEvent[] = []
  const { done } = target
  report(done)
  for await (const event of eachOf(source.events())) {
    if (passed++ < done) continue
    page.push(event)
    if (page.length < copyPageSize) continue
    await target.putEvents(page)
    page = []
    report(passed)
  }
  if (page.length > 0) await target.putEvents(page)
  report(passed)
  for await (const sessions of source.sessions()) await target.putSessions(sessions)
  for await (const keys of source.keys()) await target.putKeys(keys)
}

async function digestIfSame(
  source: CopySource,
  to: CopyableTarget,
  { project, counts, report }: { project: string; counts: CopyCounts; report: (done: number) => void },
): Promise<string | undefined> {
  return to.snapshot(project, async there => {
    const found = await there.counts()
    const isAlike = (Object.keys(counts) as Array<keyof CopyCounts>).every(one => found?.[one] === counts[one])
    if (!isAlike) return undefined
    const [digest, other] = [await digestOf(source, () => undefined), await digestOf(there, report)]
    return digest === other ? digest : undefined
  })
}

/** One hash over all that a project has. */
async function digestOf(source: CopySource, report: (done: number) => void): Promise<string> {
  const hash = createHash('sha256')
  const take = (line: string) => hash.update(line).update('\n')
  for await (const one of eachOf(source.conversations())) take(recordLine.conversation(one))
  let done = 0
  for await (const page of source.events()) {
    for (const one of page) take(recordLine.event(one))
    done += page.length
    report(done)
  }
  for await (const one of eachOf(source.sessions())) take(recordLine.session(one))
  for await (const one of eachOf(source.keys())) take(recordLine.key(one))
  for (const one of await source.purges()) take(recordLine.purge(one))
  return hash.digest('hex')
}

async function* eachOf<T>(pages: AsyncIterable<T[]>): AsyncGenerator<T> {
  for await (const page of pages) yield* page
}
