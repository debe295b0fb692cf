/** The worktree that a feature's agents build in: made when it is needed, recorded, ready, and put away in the end. */
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

export interface FeaturePlace extends Worktree {
  /** Where merges are made: only code and the merging agent work there. */
  mergePath: string
  /** From either worktree to where agents work in it. */
  prefix: string
}

/** @throws {RepositoryMissing} when the project is not in a git repository with a commit */
export async function featurePlace(
  work: WorkManager,
  feature: Feature,
  {
    root,
    settings,
    signal,
    write,
  }: { root: string; settings: BuildSettings; signal: AbortSignal; write: WriteOptions },
): Promise<FeaturePlace> {
  const { featureId, worktree: known } = feature
  const path = join(settings.worktrees, safeName(featureId))
  const base = typeof known?.data?.base === 'string' ? known.data.base : feature.baseBranch
  const worktree = await openWorktree({ root, featureId, path, branch: known?.branch, base })
  if (!known) {
    const { commit } = await commitState(worktree.path)
    const made = { path: relative(root, worktree.path), branch: worktree.branch, base: commit }
    await work.recordWorktree(itemOf(featureId), { ...made, data: { base: worktree.base } }, write)
  }
  await setUp(worktree.folder, settings.setup, { signal, timeMs: settings.checkMs })
  return { ...worktree, mergePath: `${worktree.path}.merge`, prefix: relative(worktree.path, worktree.folder) }
}

/** When all is merged. What is left in it is never lost: then it stays, and that is no failure. */
export async function putAway(work: WorkManager, featureId: string, place: FeaturePlace, write: WriteOptions) {
  await discard(place.repository, place.mergePath)
  try {
    await removeWorktree(place)
  } catch (error) {
    if (error instanceof WorktreeInUse) return
    throw error
  }
  await work.forgetWorktree(itemOf(featureId), 'all of it is merged', write)
}

function itemOf(featureId: string): WorkItem {
  return { type: 'feature', featureId }
}
