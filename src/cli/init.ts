/** `colloquy init`: looks at the project and writes its configuration file. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Command } from 'commander'
import { instructionFileNames } from '../context/instruction-files.ts'
import { IllegalState } from '../errors.ts'
import { projectRoot } from '../managers/project-root.ts'
import { configurationFiles } from '../managers/read-configuration.ts'
import { examples, type GlobalOptions } from './options.ts'
import { safeLine } from './safe-text.ts'
import { printJson, printLines, style } from './terminal.ts'

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
      const found = look(projectRoot())
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

/** Scripts and files that say how a project is checked. */
function look(root: string): Found {
  const has = (name: string) => existsSync(join(root, name))
  const checks: string[] = []
  if (has('package.json')) {
    const runner = has('pnpm-lock.yaml') ? 'pnpm' : has('yarn.lock') ? 'yarn' : has('bun.lock') ? 'bun run' : 'npm run'
    const scripts = scriptsIn(join(root, 'package.json'))
    for (const name of ['test', 'check', 'lint', 'types', 'typecheck', 'build']) {
      if (scripts.includes(name))
        checks.push(name === 'test' && runner === 'npm run' ? 'npm test' : `${runner} ${name}`)
    }
  }
  if (has('Cargo.toml')) checks.push('cargo test', 'cargo check', 'cargo clippy')
  if (has('go.mod')) checks.push('go test', 'go vet', 'go build')
  if (has('pyproject.toml') || has('pytest.ini')) checks.push('pytest', 'python -m pytest')
  if (has('Makefile') && /^test:/m.test(readFileSync(join(root, 'Makefile'), 'utf8'))) checks.push('make test')
  return { root, isRepository: has('.git'), checks, instructionFiles: instructionFileNames.filter(has) }
}

function scriptsIn(file: string): string[] {
  try {
    const { scripts } = JSON.parse(readFileSync(file, 'utf8')) as { scripts?: Record<string, string> }
    return Object.keys(scripts ?? {})
  } catch {
    return []
  }
}

function configurationOf({ root, checks }: Found, { model, project }: InitOptions): Record<string, unknown> {
  return {
    project: project ?? basename(root),
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
