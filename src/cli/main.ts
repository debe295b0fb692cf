#!/usr/bin/env node
/** The command line: the commands together, and how each run ends. */
import { Command } from 'commander'
import { version } from '../server/version.ts'
import { addAnswer } from './answer.ts'
import { addArchive } from './archive.ts'
import { addBead } from './bead.ts'
import { addBranch } from './branch.ts'
import { addChat } from './chat.ts'
import { addCheckpoint } from './checkpoint.ts'
import { addCompact } from './compact.ts'
import { addCompare } from './compare.ts'
import { addConfig } from './config.ts'
import { addDemo } from './demo.ts'
import { addDispatch } from './dispatch.ts'
import { addDoctor } from './doctor.ts'
import { addErase } from './erase.ts'
import { addExport } from './export.ts'
import { tell } from './failure.ts'
import { addFeature } from './feature.ts'
import { addHelp } from './help.ts'
import { addInit } from './init.ts'
import { addList } from './list.ts'
import { addLog } from './log.ts'
import { addMerge } from './merge.ts'
import { addOrchestrate } from './orchestrate.ts'
import { addPhase } from './phase.ts'
import { addPurge } from './purge.ts'
import { addReplay } from './replay.ts'
import { addRequest } from './request.ts'
import { addRestore } from './restore.ts'
import { addRalph, addResume, addRun, addStop } from './run.ts'
import { addSearch } from './search.ts'
import { addServe } from './serve.ts'
import { addShow } from './show.ts'
import { addStats } from './stats.ts'
import { addStatus } from './status.ts'
import { addStore } from './store.ts'
import { addTask } from './task.ts'
import { style } from './terminal.ts'
import { addTimeline } from './timeline.ts'
import { addToken } from './token.ts'
import { addTurns } from './turns.ts'
import { addVerify } from './verify.ts'
import { addView } from './view.ts'

const program = new Command('colloquy')
  .description('Talks with agents, looks into a store of conversations, checks it, and puts things away.')
  .version(version, '--version')
  .option('--json', 'output for machines')
  .option('--store <URL>', 'sqlite:PATH or postgres://… (default: .colloquy/colloquy.db in the project root)')
  .option('--project <NAME>', 'the project (default: the name of the project root)')
  .option('--config <FILE>', 'settings of the project (default: colloquy.config.yaml in the project root)')
  .configureHelp({ showGlobalOptions: true, styleTitle: title => style.bold(title) })
  // Errors are told in one place, below; help that nobody asked for goes to stderr, unless a machine reads it.
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

/** What failed to parse may have asked for JSON all the same. */
function wantsJson(): boolean {
  return program.opts<{ json?: boolean }>().json ?? process.argv.includes('--json')
}
