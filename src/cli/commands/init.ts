/** `colloquy init`: looks at the project and writes its configuration file. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { configurationFiles } from '../../app/configuration/configuration-reader.ts'
import { projectName, projectRoot } from '../../app/configuration/project-root.ts'
import { IllegalState } from '../../errors.ts'
import { instructionFileNames } from '../../request/context/instruction-files.ts'
import { examples, type GlobalOptions } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { printJson, printLines, style } from '../terminal/terminal.ts'

interface InitOptions extends GlobalOptions {
  model?: string
  force?: boolean
}

interface Found {
  root: string
  isRepository: boolean
  /** Commands that check the project. */
  checks: string[]
  instructionFiles: string[]
}

export function addInit(program: Command): void {
  program
    .command('init')
    .summary('set a project up for agents')
    .description(
      'Finds the repository, its checks and its instruction files, and writes colloquy.config.yaml. The checks become commands that agents may run without asking.',
    )
    .option('--model <NAME>', "the model agents run on, such as anthropic:claude-opus-4-7 or 'command:claude -p'")
    .option('--force', 'write over the configuration file that is there')
    .addHelpText(
      'after',
      examples(
        ['init', 'in the folder of a project'],
        ['init --model ollama:qwen3', 'with a model to begin with'],
        ["init --model 'command:claude -p'", 'with a program as the model'],
      ),
    )
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<InitOptions>()
      const found = await look(projectRoot())
      const file = options.config ?? join(found.root, configurationFiles[0])
      const there = [file, ...configurationFiles.map(name => join(found.root, name))].find(path => existsSync(path))
      if (there !== undefined && !options.force) {
        throw new IllegalState(
          `There is a configuration already: ${there}. Nothing was written; --force writes over it.`,
          {
            file: there,
          },
        )
      }
      const { stringify } = await import('yaml')
      writeFileSync(file, `${opening}\n${stringify(configurationOf(found, options))}`)
      if (options.json) return printJson({ file, ...found })
      await printLines(toldLines(file, found, options))
    })
}

const opening = "# Settings of this project for Colloquy; 'colloquy chat' talks with its agents."

async function look(root: string): Promise<Found> {
  const { findChecks } = await import('../../agents/building/find-checks.ts')
  const has = (name: string) => existsSync(join(root, name))
  const { commands: checks } = findChecks(root)
  return { root, isRepository: has('.git'), checks, instructionFiles: instructionFileNames.filter(has) }
}

function configurationOf({ root, checks }: Found, { model, project }: InitOptions): Record<string, unknown> {
  return {
    project: project ?? projectName(root),
    agents: {
      ...(model !== undefined && { model }),
      defaultAgent: 'pm',
      ...(checks.length > 0 && { commands: { dev: checks, qa: checks, merge: checks } }),
    },
  }
}

function toldLines(
  file: string,
  { root, isRepository, checks, instructionFiles }: Found,
  { model }: InitOptions,
): string[] {
  return [
    `${style.green('Wrote')} ${safeLine(file)}`,
    safeLine(`  project       ${root}${isRepository ? ', a git repository' : ''}`),
    safeLine(`  checks        ${checks.join(', ') || 'none found: agents ask before they run anything'}`),
    safeLine(`  instructions  ${instructionFiles.join(', ') || 'none found'}`),
    safeLine(`  model         ${model ?? 'none yet: add agents.model, set COLLOQUY_MODEL, or use chat --model NAME'}`),
    'Keep .colloquy/ out of version control: it holds the conversations.',
    'Now: colloquy chat --agent pm --feature NAME',
  ]
}
