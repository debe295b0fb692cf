/**
 * Lands a task's work on the base branch. It is merged and checked in a separate worktree, where the merging agent resolves
 * conflicts and failures. The base moves last, so that a crash leaves base and branch intact.
 */

import { endLanding, findConflicts, startLanding } from '../../log/commands/work/ralph.ts'
import type { LandingEnded } from '../../log/events/work/landing.ts'
import type { CheckResult } from '../../log/events/work/ralph.ts'
import type { LandingState } from '../../log/views/work/ralph.ts'
import { askGit, commitAll, git, isAncestor, isDirty } from './git/git.ts'
import { commitResolution, discardMerge, land, type MergePlace, makeMerge } from './git/merge.ts'
import { setUp } from './git/worktree-setup.ts'
import { brokenMergeMessage, conflictsMessage } from './review-message.ts'
import { mergeFolder, type TaskContext } from './task-context.ts'

/** Max merges of one landing, because the base may move while a merge is checked. */
const maxMerges = 10
/** Max runs of the merging agent for one conflict, and for failing checks. */
const maxTries = 2

type Ending = Omit<LandingEnded, 'type'>

export async function landTask(context: TaskContext): Promise<LandingState> {
  const { task, worktree, settings, signal, onProgress } = context
  const { taskId } = task
  const { branch, base, repository } = worktree
  const merging: MergePlace = {
    repository,
    path: worktree.mergePath,
    branch,
    base,
    subject: `Merge ${taskId}: ${task.title}`,
  }
  const [tip, onto] = await Promise.all([branch, base].map(name => git(repository, 'rev-parse', `refs/heads/${name}`)))
  await context.record(id => startLanding(id, { branch, tip: tip!, base, onto: onto! }))
  const ending = await mergeAndLand()
  // After a stop the landing stays open, and the next run resumes it.
  if (!ending) return (await context.head()).info.landing!
  // Fast-forwards the branch. If files in the worktree prevent that, the next merge includes it.
  if (ending.outcome === 'landed') await askGit(worktree.path, 'merge', '--quiet', '--ff-only', ending.commit!)
  const { landing } = (await context.record(id => endLanding(id, ending))).info
  const { outcome, commit, reason } = ending
  onProgress({
    ...{ type: 'landing', taskId, outcome, base },
    ...(commit !== undefined && { commit }),
    ...(reason !== undefined && { reason }),
  })
  return landing!

  async function mergeAndLand(): Promise<Ending | undefined> {
    for (let merges = 0; merges < maxMerges && !signal.aborted; merges++) {
      const merge = await makeMerge(merging)
      if (merge.state === 'landed') return { outcome: 'landed', commit: await mergeOf(repository, tip!, base) }
      await setUp(mergeFolder(worktree), settings.setup, { signal, timeMs: settings.checkMs })
      if (merge.state === 'conflicted') {
        const unresolved = await resolve(merge.files, merge.onto)
        if (signal.aborted) return undefined
        if (unresolved === undefined) continue
        await discardMerge(merging)
        return { outcome: 'conflicted', reason: `conflicts are not resolved in ${unresolved.join(', ')}` }
      }
      const { checks, commit } = await checkMerge(merge.commit)
      if (signal.aborted) return undefined
      if (checks.some(check => !check.passed)) {
        await discardMerge(merging)
        const failed = checks.filter(check => !check.passed).map(({ name }) => name)
        return { outcome: 'checks_failed', reason: `on the merge with ${base}: ${failed.join(', ')}`, checks }
      }
      const landing = await land(merging, { commit, onto: merge.onto }, settings)
      if (landing.landed) return { outcome: 'landed', commit, checks }
      if (landing.why === 'checkout') return { outcome: 'waiting', reason: landing.reason, commit }
    }
    return signal.aborted ? undefined : { outcome: 'conflicted', reason: `${base} moves faster than it can be merged` }
  }

  /** Returns the files still in conflict; undefined when the merge is committed. */
  async function resolve(files: readonly string[], onto: string): Promise<string[] | undefined> {
    if (files.length > 0) {
      await context.record(id => findConflicts(id, { files: [...files] }))
      onProgress({ type: 'conflicts', taskId, files })
    }
    // A file changed on one side and removed on the other has no marks. So the agent is asked even without marks.
    let unresolved = files.length > 0 ? [...files] : await commitResolution(worktree.mergePath, files)
    for (let tries = 1; unresolved.length > 0 && tries <= maxTries && !signal.aborted; tries++) {
      const message = conflictsMessage({ task, base, files: unresolved })
      await runMerger(message, `conflicts ${tip} ${onto} ${tries}`)
      unresolved = await commitResolution(worktree.mergePath, unresolved)
    }
    return unresolved.length === 0 ? undefined : unresolved
  }

  /** Runs the checks on the merge, and commits fixes of the merging agent on top of it. */
  async function checkMerge(mergeCommit: string): Promise<{ checks: CheckResult[]; commit: string }> {
    let commit = mergeCommit
    for (let tries = 1; ; tries++) {
      const checks = await context.check(mergeFolder(worktree))
      const isBroken = checks.some(check => !check.passed)
      if (!isBroken || tries > maxTries || signal.aborted) return { checks, commit }
      await runMerger(brokenMergeMessage({ task, base, checks }), `merge ${commit}`)
      if (!(await isDirty(worktree.mergePath))) return { checks, commit }
      const subject = `${taskId}: put right on the merge with ${base}`
      commit = (await commitAll(worktree.mergePath, { subject, mark: `Colloquy-Merge: ${mergeCommit} ${tries}` }))
        .commit
    }
  }

  async function runMerger(message: string, once: string): Promise<void> {
    const session = await context.session('merge', 'ready_for_merge')
    await context.run(session, { message, once: `${once} ${session.id}`, folder: mergeFolder(worktree), fresh: true })
  }
}

/** Finds the first commit on the base's first-parent line that includes the work. */
async function mergeOf(repository: string, tip: string, base: string): Promise<string> {
  const since = await git(repository, 'rev-list', '--first-parent', '--reverse', `${tip}..${base}`)
  for (const commit of since.split('\n').filter(Boolean)) {
    if (await isAncestor(repository, tip, commit)) return commit
  }
  return git(repository, 'rev-parse', base)
}
