/** Gathers what a request is about: the project from disk and git, the feature and task as the caller gives them. */
import type { SessionContext } from '../../log/events/context.ts'
import { recentCommits } from './commits.ts'
import { defaultInstructionFileBytes, instructionFiles } from './instruction-files.ts'
import { directoryStructure, type StructureLimits } from './structure.ts'

interface ContextLimits {
  readonly structure?: Partial<StructureLimits>
  /** Bytes shown of each instruction file. */
  readonly instructionFileBytes?: number
  readonly commits?: number
}

export interface ContextInputs {
  /** The project's folder. Without it there is no structure, no instruction files and no commits. */
  readonly root?: string | undefined
  readonly feature?: SessionContext['feature']
  readonly task?: SessionContext['task']
  readonly dagSummary?: string | undefined
  readonly limits?: ContextLimits | undefined
}

/** Never fails: what is missing or cannot be read is left out. */
export async function gatherContext(inputs: ContextInputs): Promise<SessionContext> {
  const { root, feature, task, dagSummary, limits = {} } = inputs
  return {
    project: root === undefined ? {} : await gatherProject(root, limits),
    ...(feature && { feature }),
    ...(task && { task }),
    ...(dagSummary && { dagSummary }),
  }
}

async function gatherProject(root: string, limits: ContextLimits): Promise<SessionContext['project']> {
  const [structure, files, commits] = await Promise.all([
    directoryStructure(root, limits.structure),
    instructionFiles(root, limits.instructionFileBytes ?? defaultInstructionFileBytes),
    recentCommits(root, limits.commits),
  ])
  return {
    root,
    ...(structure && { structure }),
    ...(files.length > 0 && { instructionFiles: files }),
    ...(commits && commits.length > 0 && { recentCommits: commits }),
  }
}
