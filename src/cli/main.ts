#!/usr/bin/env node
/** The command line: the commands together, and how each run ends. */
import { Command } from 'commander'
import { version } from '../server/version.ts'
import { addDemo, addRalph, addResume, addRun, addStatus, addStop } from './building/commands.ts'
import { addChat } from './chat/chat.ts'
import { addAnswer } from './commands/answer.ts'
import { addBead } from './commands/bead.ts'
import { addBranch } from './commands/branch.ts'
import { addCheckpoint } from './commands/checkpoint.ts'
import { addCompact } from './commands/compact.ts'
import { addCompare } from './commands/compare.ts'
import { addConfig } from './commands/config.ts'
import { addDoctor } from './commands/doctor.ts'
import { addInit } from './commands/init.ts'
import { addList } from './commands/list.ts'
import { addLog } from './commands/log.ts'
import { addMerge } from './commands/merge.ts'
import { addPhase } from './commands/phase.ts'
import { addReplay } from './commands/replay.ts'
import { addRequest } from './commands/request.ts'
import { addSearch } from './commands/search.ts'
import { addServe } from './commands/serve.ts'
import { addShow } from './commands/show.ts'
import { addStats } from './commands/stats.ts'
import { addTimeline } from './commands/timeline.ts'
import { addToken } from './commands/token.ts'
import { addTurns } from './commands/turns.ts'
import { addView } from './commands/view.ts'
import { tell } from './failure.ts'
import { addHelp } from './help.ts'
import { style } from './terminal/terminal.ts'
import { addArchive } from './upkeep/archive.ts'
import { addErase } from './upkeep/erase.ts'
import { addExport } from './upkeep/export.ts'
import { addPurge } from './upkeep/purge.ts'
import { addRestore } from './upkeep/restore.ts'
import { addStore } from './upkeep/store.ts'
import { addVerify } from './upkeep/verify.ts'
import { addDispatch } from './work/dispatch.ts'
import { addFeature } from './work/feature.ts'
import { addOrchestrate } from './work/orchestrate.ts'
import { addTask } from './work/task.ts'

const program = new Command('colloquy')
  .description('Talks with agents, looks into a store of conversations, checks it, and puts things away.')
  .version(version, '--version')
  .option('--json', 'output for machines')
  .option('--store <URL>', 'sqlite:PATH or postgres://… (default: .colloquy/colloquy.db in the project root)')
  .option('--project <NAME>', 'the project (default: the name of the project root)')
  .option('--config <FILE>', 'settings of the project (default: colloquy.config.yaml in the project root)')
  .configureHelp({ showGlobalOptions: true, styleTitle: title => style.bold(title) })
  // Errors are printed in one place, below. Help that was not requested goes to stderr, unless a machine reads it.
  .configureOutput({
    outputError: () => undefined,
    writeErr: help => {
      if (!wantsJson()) process.stderr.write(help)
    },
  })
  .exitOverride()

for (const add of [
  addInit,
  addDemo,
  addChat,
  addAnswer,
  addFeature,
  addTask,
  addBead,
  addRun,
  addRalph,
  addStop,
  addResume,
  addStatus,
  addList,
  addShow,
  addLog,
  addTimeline,
  addSearch,
  addStats,
  addDispatch,
  addPhase,
  addTurns,
  addOrchestrate,
  addView,
  addRequest,
  addCheckpoint,
  addCompact,
  addReplay,
  addBranch,
  addCompare,
  addMerge,
  addVerify,
  addExport,
  addArchive,
  addRestore,
  addPurge,
  addErase,
  addStore,
  addServe,
  addToken,
  addConfig,
  addDoctor,
  addHelp,
]) {
  add(program)
}
program.addHelpText(
  'after',
  "\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 damage was found.\nAn ID is given whole, as 'colloquy list' prints it; behind --, if it begins with a dash.\n'colloquy COMMAND --help' has examples of each command.",
)

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = tell(error, { json: wantsJson() })
}

/** A command line that failed to parse may contain `--json` all the same. */
function wantsJson(): boolean {
  return program.opts<{ json?: boolean }>().json ?? process.argv.includes('--json')
}
