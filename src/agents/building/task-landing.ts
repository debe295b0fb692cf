/**
 * Takes a task's work into the base branch: merged in a worktree of its own, conflicts and broken checks handed to the
 * merging agent, checked again, and only then does the base move. Whatever happens in between, base and branch stay whole.
 */

import { endLanding, findConflicts, startLanding } from '../../log/commands/work/ralph.ts'
import type { LandingEnded } from '../../log/events/work/landing.ts'
import type { CheckResult } from '../../log/events/work/ralph.ts'
import type { LandingState } from '../../log/views/work/ralph.ts'
import { askGit, commitAll, git, isAncestor, isDirty } from './git/git.ts'
import { commitResolution, giveUp, land, type MergePlace, makeMerge } from './git/merge.ts'
import { setUp } from './git/worktree-setup.ts'
import { brokenMergeMessage, conflictsMessage } from './review-message.ts'
import { mergeFolder, type TaskRoom } from './task-context.ts'

/** The base may move while a merge is checked; whoever is busier wins in the end. */
const mostMerges = 10
/** Of each conflict, and of checks that fail on the merge. */
const mostTries = 2

type Ending = Omit<LandingEnded, 'type'>

export async function landTask(room: TaskRoom): Promise<LandingState> {
  const { task, place, settings, signal, onProgress } = room
  const { taskId } = task
  const { branch, base, repository } = place
  const merging: MergePlace = {
    repository,
    path: place.mergePath,
    branch,
    base,
    subject: `Merge ${taskId}: ${task.title}`,
  }
  const [tip, onto] = await Promise.all([branch, base].map(name => git(repository, 'rev-parse', `refs/heads/${name}`)))
  await room.record(id => startLanding(id, { branch, tip: tip!, base, onto: onto! }))
  const ending = await landed()
  // Stopped: the landing stays open, and goes on from here.
  if (!ending) return (await room.head()).info.landing!
  // The branch goes on from there; where something in the worktree is in the way, the next merge makes up for it.
  if (ending.outcome === 'landed') await askGit(place.path, 'merge', '--quiet', '--ff-only', ending.commit!)
  const { landing } = (await room.record(id => endLanding(id, ending))).info
  const { outcome, commit, reason } = ending
  onProgress({
    ...{ type: 'landing', taskId, outcome, base },
    ...(commit !== undefined && { commit }),
    ...(reason !== undefined && { reason }),
  })
  return landing!

  async function landed(): Promise<Ending | undefined> {
    for (let merges = 0; merges < mostMerges && !signal.aborted; merges++) {
      const merge = await makeMerge(merging)
      if (merge.state === 'landed') return { outcome: 'landed', commit: await mergeOf(repository, tip!, base) }
      await setUp(mergeFolder(place), settings.setup, { signal, timeMs: settings.checkMs })
      if (merge.state === 'conflicted') {
        const left = await resolve(merge.files, merge.onto)
        if (signal.aborted) return undefined
        if (left === undefined) continue
        await giveUp(merging)
        return { outcome: 'conflicted', reason: `nobody resolved ${left.join(', ')}` }
      }
      const { checks, commit } = await checked(merge.commit)
      if (signal.aborted) return undefined
      if (checks.some(check => !check.passed)) {
        await giveUp(merging)
        const failed = checks.filter(check => !check.passed).map(({ name }) => name)
        return { outcome: 'checks_failed', reason: `on the merge with ${base}: ${failed.join(', ')}`, checks }
      }
      const done = await land(merging, { commit, onto: merge.onto }, settings)
      if (done.landed) return { outcome: 'landed', commit, checks }
      if (done.why === 'checkout') return { outcome: 'waiting', reason: done.reason, commit }
    }
    return signal.aborted ? undefined : { outcome: 'conflicted', reason: `${base} moves faster than it can be merged` }
  }

  /** Gives the files that are still in conflict; none when the merge is committed. */
  async function resolve(files: readonly string[], onto: string): Promise<string[] | undefined> {
    if (files.length > 0) {
      await room.record(id => findConflicts(id, { files: [...files] }))
      onProgress({ type: 'conflicts', taskId, files })
    }
    // Not every conflict leaves marks: one side may have removed what the other changed. So somebody decides in any case.
    let left = files.length > 0 ? [...files] : await commitResolution(place.mergePath, files)
    for (let tries = 1; left.length > 0 && tries <= mostTries && !signal.aborted; tries++) {
      const message = conflictsMessage({ task, base, files: left })
      await runMerger(message, `conflicts ${tip} ${onto} ${tries}`)
      left = await commitResolution(place.mergePath, left)
    }
    return left.length === 0 ? undefined : left
  }

  /** The checks on the merge; what the merging agent put right is committed on top of it. */
  async function checked(merged: string): Promise<{ checks: CheckResult[]; commit: string }> {
    let commit = merged
    for (let tries = 1; ; tries++) {
      const checks = await room.check(mergeFolder(place))
      const isBroken = checks.some(check => !check.passed)
      if (!isBroken || tries > mostTries || signal.aborted) return { checks, commit }
      await runMerger(brokenMergeMessage({ task, base, checks }), `merge ${commit}`)
      if (!(await isDirty(place.mergePath))) return { checks, commit }
      const subject = `${taskId}: put right on the merge with ${base}`
      commit = (await commitAll(place.mergePath, { subject, mark: `Colloquy-Merge: ${merged} ${tries}` })).commit
    }
  }

  async function runMerger(message: string, once: string): Promise<void> {
    const session = await room.session('merge', 'ready_for_merge')
    await room.run(session, { message, once: `${once} ${session.id}`, folder: mergeFolder(place), fresh: true })
  }
}

/** The commit on the base's own line that brought the work in. */
async function mergeOf(repository: string, tip: string, base: string): Promise<string> {
  const since = await git(repository, 'rev-list', '--first-parent', '--reverse', `${tip}..${base}`)
  for (const commit of since.split('\n').filter(Boolean)) {
    if (await isAncestor(repository, tip, commit)) return commit
  }
  return git(repository, 'rev-parse', base)
}
