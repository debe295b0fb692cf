/** The built-in tools. An agent's description names those it has. */
import { editFileTool } from './edit-file.ts'
import { gitCommitTool, gitDiffTool, gitLogTool, gitStatusTool } from './git.ts'
import { listFilesTool } from './list-files.ts'
import { expandTool, pinTool, recallTool } from './memory.ts'
import { askTool, completeTool, delegateTool } from './people.ts'
import { planTasksTool, showGraphTool } from './plan.ts'
import { readFileTool } from './read-file.ts'
import { runCommandTool } from './run-command.ts'
import { searchFilesTool } from './search-files.ts'
import type { Tool } from './tool.ts'
import { writeFileTool } from './write-file.ts'

const fileTools: readonly Tool[] = [
  readFileTool,
  writeFileTool,
  editFileTool,
  listFilesTool,
  searchFilesTool,
  runCommandTool,
  gitStatusTool,
  gitDiffTool,
  gitLogTool,
  gitCommitTool,
]

/** Names of the tools that need a work tree. */
export const workTreeTools: ReadonlySet<string> = new Set(fileTools.map(({ name }) => name))

export const builtInTools: readonly Tool[] = [
  ...fileTools,
  askTool,
  delegateTool,
  completeTool,
  recallTool,
  expandTool,
  pinTool,
  planTasksTool,
  showGraphTool,
]
