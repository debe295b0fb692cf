/**
 * `colloquy verify`: checks every record, names each that is damaged, puts right what is derived from the log, and rescues
 * what can be read into a new file.
 */
import { type Command, Option } from 'commander'
import { sqliteDoor } from '../../app/store-doors.ts'
import { InvalidInput, NotFound, StoreDamaged, StoreUnusable } from '../../errors.ts'
import type { Colloquy } from '../../index.ts'
import type { Damage, RepairedHead, VerifyReport } from '../../log/upkeep.ts'
import { exitCode } from '../failure.ts'
import { storePlace } from '../lookup/store-path.ts'
import { configurationOf, reading, writing } from '../open.ts'
import { examples, type GlobalOptions } from '../options.ts'
import { progressLine } from '../terminal/progress.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { note, printJson, printLines, style } from '../terminal/terminal.ts'
import { count } from '../text/format.ts'

interface VerifyOptions extends GlobalOptions {
  salvage?: string
  allProjects?: boolean
  repair?: boolean
}

export function addVerify(program: Command): void {
  program
    .command('verify')
    .summary('check every record; repair heads and index; rescue a damaged file')
    .description(
      'Checks every hash, refolds every head and reports each damaged record by conversation and version. Changes nothing, unless told to repair: then indexes are built again, heads that differ from the log are written anew from its valid events, and the full-text index is built again; the log itself stays as it is. Exits with 3 when there is damage (left), with 1 when there is no such project.',
    )
    .option('--all-projects', 'every project of the store')
    .addOption(
      new Option('--repair', 'put indexes, heads and the full-text index right by the log').conflicts('salvage'),
    )
    .option('--salvage <NEW>', 'write what can be read of the whole store to a new file, and verify that')
    .addHelpText(
      'after',
      examples(
        ['verify', 'is everything as it was written?'],
        ['verify --all-projects --json', 'the whole store, for a script'],
        ['verify --repair', 'write damaged heads and the search index anew, from the log'],
        ['verify --salvage rescued.db', 'rescue what can be read of a damaged file'],
      ),
    )
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<VerifyOptions>()
      if (options.salvage !== undefined) await salvageInto(options.salvage, options)
      else if (options.repair) await repair(options)
      else await verify(options)
    })
}

async function verify(options: VerifyOptions): Promise<void> {
  const report = await check(options)
  // Set before printing: the reader may close our output early.
  if (!report.clean) process.exitCode = exitCode.damageFound
  if (options.json) await printJson(report)
  else await printLines([...report.damages.map(damageLine), verdict(report)])
  if (report.clean) return
  if (!options.json && report.damages.some(isOfHead)) {
    note("'colloquy verify --repair' writes heads anew from the log.")
  }
  if (!options.json) tellOfSalvage(report)
}

/** Damage in a record leaves the file readable, and salvage would bring it along; damage to the file itself does not. */
function tellOfSalvage({ damages }: VerifyReport): void {
  if (!damages.some(isOfStructure)) return
  note("The file's structure is damaged. 'colloquy verify --salvage NEW' rescues what can be read into a new file.")
}

async function repair(options: VerifyOptions): Promise<void> {
  const { allProjects = false, json } = options
  const progress = progressLine('Repairing', 'event')
  const repaired = await writing(options, colloquy => colloquy.repair({ allProjects, onProgress: progress.report }))
    .catch(refuseUnlessDamaged)
    .finally(progress.end)
  const report = await check(options)
  if (!report.clean) process.exitCode = exitCode.damageFound
  if (json) return printJson({ repaired: repaired ?? { heads: [], indexed: 0 }, report })
  const done = repaired && [
    ...repaired.heads.map(headLine),
    `The full-text index is built again: ${count(repaired.indexed, 'message')}.`,
  ]
  await printLines([...(done ?? []), ...report.damages.map(damageLine), verdict(report)])
  tellOfSalvage(report)
}

/** A file too damaged to be opened cannot be repaired; what is wrong with it is a finding. */
function refuseUnlessDamaged(error: unknown): undefined {
  if (!(error instanceof StoreDamaged)) throw error
}

function headLine({ project, conversationId, sessionId, what }: RepairedHead): string {
  const whose = sessionId === undefined ? '' : ` session ${sessionId}`
  return `${style.green('repaired')} ${style.bold(safeLine(`${project} ${conversationId}${whose}`))}  head: ${safeLine(what)}`
}

/** A file too damaged to look into is a finding too, not a failure to look. */
async function check(options: VerifyOptions): Promise<VerifyReport> {
  const { allProjects = false } = options
  const progress = progressLine('Verifying', 'event')
  try {
    return await reading(options, async colloquy => {
      const report = await colloquy.verify({ allProjects, onProgress: progress.report })
      if (!allProjects && report.clean && report.conversations === 0) await refuseUnknown(colloquy)
      return report
    })
  } catch (error) {
    if (!(error instanceof StoreDamaged)) throw error
    const what = `file structure: ${error.message}`
    return { conversations: 0, events: 0, damages: [{ project: '', conversationId: '', what }], clean: false }
  } finally {
    progress.end()
  }
}

/** Nothing was checked, and "clean" would be misread. A store without projects is only new. */
async function refuseUnknown({ project, projects }: Colloquy): Promise<void> {
  const known = await projects()
  if (known.length > 0 && !known.includes(project)) throw new NotFound('project', project)
}

async function salvageInto(target: string, options: VerifyOptions): Promise<void> {
  const { json } = options
  const { file } = storePlace(options.store ?? (await configurationOf(options)).store)
  if (file === undefined) throw new StoreUnusable('Only stores that are a file can be salvaged: --store sqlite:PATH.')
  const to = target.replace(/^sqlite:/, '')
  if (to === '' || /^[a-z0-9+]+:\/\//i.test(to)) throw new InvalidInput('--salvage', 'must be the path of a new file')
  if (process.stderr.isTTY) note(safeLine(`Rescuing ${file} into ${to} …`))
  const { salvage } = await sqliteDoor()
  const salvaged = await salvage(file, to)
  const report = await check({ ...options, store: `sqlite:${to}`, allProjects: true })
  if (salvaged.losses.length > 0 || !report.clean) process.exitCode = exitCode.damageFound
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
}

function damageLine({ project, conversationId, version, what }: Damage): string {
  const place =
    conversationId === '' ? 'the file' : `${project} ${conversationId}${version === undefined ? '' : ` #${version}`}`
  return `${style.red('damaged')}  ${style.bold(safeLine(place))}  ${safeLine(what)}`
}

function isOfStructure({ conversationId }: Damage): boolean {
  return conversationId === ''
}

/** Damage that has no version is in what was folded from the log. */
function isOfHead({ conversationId, version }: Damage): boolean {
  return conversationId !== '' && version === undefined
}

function verdict({ conversations, events, damages, clean }: VerifyReport): string {
  const checked = `${count(conversations, 'conversation')}, ${count(events, 'event')} checked`
  return clean ? `${style.green('clean')}: ${checked}.` : `${style.red(count(damages.length, 'damage'))}: ${checked}.`
}
