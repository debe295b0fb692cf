/** The worktree of a feature: creating, recording, setting up and removing it. */
import { join, relative } from 'node:path'
import type { Feature } from '../../conversation/work/item-views.ts'
import type { WorkManager } from '../../conversation/work/work-manager.ts'
import { WorktreeInUse } from '../../errors.ts'
import type { WriteOptions } from '../../log/engine.ts'
import type { WorkItem } from '../../log/events/work-item.ts'
import type { BuildSettings } from '../build-settings.ts'
import { commitState } from './git/git.ts'
import { discard, openWorktree, removeWorktree, safeName, type Worktree } from './git/worktree.ts'
import { setUp } from './git/worktree-setup.ts'

export interface FeatureWorktree extends Worktree {
  /** Worktree of merges, used by code and the merging agent only. */
  mergePath: string
  /** Path from a worktree to the folder that agents work in. */
  prefix: string
}

/** @throws {RepositoryMissing} when the project is not in a git repository with a commit */
export async function openFeatureWorktree(
  work: WorkManager,
  feature: Feature,
  {
    root,
    settings,
    signal,
    write,
  }: { root: string; settings: BuildSettings; signal: AbortSignal; write: WriteOptions },
): Promise<FeatureWorktree> {
  const { featureId, worktree: recorded } = feature
  const path = join(settings.worktrees, safeName(featureId))
  const base = typeof recorded?.data?.base === 'string' ? recorded.data.base : feature.baseBranch
  const worktree = await openWorktree({ root, featureId, path, branch: recorded?.branch, base })
  if (!recorded) {
    const { commit } = await commitState(worktree.path)
    const entry = { path: relative(root, worktree.path), branch: worktree.branch, base: commit }
    await work.recordWorktree(itemOf(featureId), { ...entry, data: { base: worktree.base } }, write)
  }
  await setUp(worktree.folder, settings.setup, { signal, timeMs: settings.checkMs })
  return { ...worktree, mergePath: `${worktree.path}.merge`, prefix: relative(worktree.path, worktree.folder) }
}

/** Removes the worktree after the last merge. With unmerged work it stays, which is no error. */
export async function removeFeatureWorktree(
  work: WorkManager,
  featureId: string,
  worktree: FeatureWorktree,
  write: WriteOptions,
) {
  await discard(worktree.repository, worktree.mergePath)
  try {
    await removeWorktree(worktree)
  } catch (error) {
    if (error instanceof WorktreeInUse) return
    throw error
  }
  await work.forgetWorktree(itemOf(featureId), 'all of it is merged', write)
}

function itemOf(featureId: string): WorkItem {
  return { type: 'feature', featureId }
}
