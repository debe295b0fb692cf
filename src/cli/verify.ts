/** `colloquy verify`: checks every record, names each that is damaged, and rescues what can be read into a new file. */
import type { Command } from 'commander'
import { StoreDamaged, StoreUnusable } from '../errors.ts'
import type { Damage, VerifyReport } from '../index.ts'
import { exitCode } from './failure.ts'
import { configurationOf, reading } from './open.ts'
import { examples, type GlobalOptions } from './options.ts'
import { progressLine } from './progress.ts'
import { safeLine } from './safe-text.ts'
import { storePlace } from './store-place.ts'
import { note, printJson, printLines, style } from './terminal.ts'
import { count } from './words.ts'

interface VerifyOptions extends GlobalOptions {
  salvage?: string
  allProjects?: boolean
}

export function addVerify(program: Command): void {
  program
    .command('verify')
    .summary('check every record; rescue a damaged file')
    .description(
      'Checks every hash, refolds every head and reports each damaged record by conversation and version. Changes nothing. Exits with 3 when there is damage.',
    )
    .option('--all-projects', 'every project of the store')
    .option('--salvage <NEW>', 'write what can be read of the whole store to a new file, and verify that')
    .addHelpText(
      'after',
      examples(
        ['verify', 'is everything as it was written?'],
        ['verify --all-projects --json', 'the whole store, for a script'],
        ['verify --salvage rescued.db', 'rescue what can be read of a damaged file'],
      ),
    )
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<VerifyOptions>()
      if (options.salvage === undefined) await verify(options)
      else await salvageInto(options.salvage, options)
    })
}

async function verify(options: VerifyOptions): Promise<void> {
  const report = await check(options)
  if (options.json) await printJson(report)
  else await printLines([...report.damages.map(damageLine), verdict(report)])
  if (report.clean) return
  process.exitCode = exitCode.damageFound
  // Damage in a record leaves the file readable, and salvage would bring it along; damage to the file itself does not.
  if (!options.json && report.damages.some(isOfStructure)) {
    note("The file's structure is damaged. 'colloquy verify --salvage NEW' rescues what can be read into a new file.")
  }
}

/** A file too damaged to look into is a finding too, not a failure to look. */
async function check(options: VerifyOptions): Promise<VerifyReport> {
  const { allProjects = false } = options
  const progress = progressLine('Verifying', 'event')
  try {
    return await reading(options, colloquy => colloquy.verify({ allProjects, onProgress: progress.report }))
  } catch (error) {
    if (!(error instanceof StoreDamaged)) throw error
    const what = `file structure: ${error.message}`
    return { conversations: 0, events: 0, damages: [{ project: '', conversationId: '', what }], clean: false }
  } finally {
    progress.end()
  }
}

async function salvageInto(target: string, options: VerifyOptions): Promise<void> {
  const { json } = options
  const { file } = storePlace(options.store ?? (await configurationOf(options)).store)
  if (file === undefined) throw new StoreUnusable('Only stores that are a file can be salvaged: --store sqlite:PATH.')
  const to = target.replace(/^sqlite:/, '')
  if (process.stderr.isTTY) note(safeLine(`Rescuing ${file} into ${to} …`))
  const { salvage } = await import('../stores/sqlite/index.ts')
  const salvaged = await salvage(file, to)
  const report = await check({ ...options, store: `sqlite:${to}`, allProjects: true })
  if (json) await printJson({ salvaged: { from: file, to, ...salvaged }, report })
  else {
    await printLines([
      safeLine(
        `Rescued ${count(salvaged.conversations, 'conversation')} with ${count(salvaged.events, 'event')} into ${to}.`,
      ),
      ...salvaged.losses.map(loss => `${style.yellow('lost')}     ${safeLine(loss)}`),
      ...report.damages.map(damageLine),
      `The new file: ${verdict(report)}`,
    ])
  }
  if (salvaged.losses.length > 0 || !report.clean) process.exitCode = exitCode.damageFound
}

function damageLine({ project, conversationId, version, what }: Damage): string {
  const place =
    conversationId === '' ? 'the file' : `${project} ${conversationId}${version === undefined ? '' : ` #${version}`}`
  return `${style.red('damaged')}  ${style.bold(safeLine(place))}  ${safeLine(what)}`
}

function isOfStructure({ conversationId }: Damage): boolean {
  return conversationId === ''
}

function verdict({ conversations, events, damages, clean }: VerifyReport): string {
  const checked = `${count(conversations, 'conversation')}, ${count(events, 'event')} checked`
  return clean ? `${style.green('clean')}: ${checked}.` : `${style.red(count(damages.length, 'damage'))}: ${checked}.`
}
