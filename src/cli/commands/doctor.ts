/** `colloquy doctor`: looks at the machine, the store, the configuration and the model, and says what to fix. */
import { constants, existsSync, statSync } from 'node:fs'
import { access, statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import type { Configuration } from '../../app/configuration/options.ts'
import { defaultStore, projectRoot } from '../../app/configuration/project-root.ts'
import { sqliteDoor } from '../../app/store-doors.ts'
import { ColloquyError } from '../../errors.ts'
import { withoutPassword } from '../../log/store-address.ts'
import { exitCode } from '../failure.ts'
import { isThere } from '../lookup/store-path.ts'
import { configurationOf } from '../open.ts'
import { examples, type GlobalOptions } from '../options.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { printJson, printLines, style } from '../terminal/terminal.ts'
import { count } from '../text/format.ts'

interface Finding {
  what: string
  state: 'ok' | 'warning' | 'failed'
  says: string
  fix?: string
}

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .summary('check the machine, the store, the configuration and the model')
    .description('Looks without changing anything, and says what to fix. Exit code 1 when something does not work.')
    .addHelpText('after', examples(['doctor', 'everything here'], ['doctor --json', 'for a script']))
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const findings = await look(options)
      if (options.json) await printJson({ findings })
      else await printLines(findings.flatMap(told))
      if (findings.some(({ state }) => state === 'failed')) process.exitCode = exitCode.failed
    })
}

async function look(options: GlobalOptions): Promise<Finding[]> {
  const findings: Finding[] = [node()]
  let configuration: Configuration = {}
  try {
    configuration = await configurationOf(options)
    findings.push({ what: 'configuration', state: 'ok', says: 'can be read' })
  } catch (error) {
    findings.push(failed('configuration', error, "correct it; 'colloquy config' shows what holds"))
  }
  const root = projectRoot()
  const store = options.store ?? configuration.store ?? defaultStore(root)
  findings.push(...(await storeFindings(store, options.project ?? configuration.project)))
  findings.push(tokenFinding(configuration.server?.tokenFile, store, root))
  findings.push(await modelFinding(configuration.requests?.model))
  return findings
}

function node(): Finding {
  const { node } = process.versions
  const isRecommended = Number(node.split('.')[0]) >= 24
  return {
    what: 'node',
    state: isRecommended ? 'ok' : 'warning',
    says: node,
    ...(!isRecommended && { fix: 'it works; Node 24 is recommended' }),
  }
}

async function storeFindings(store: string, project: string | undefined): Promise<Finding[]> {
  const path = store.startsWith('sqlite:') ? store.slice('sqlite:'.length) : undefined
  if (path === undefined || path === ':memory:') return [await opens(store, project)]
  const file = resolve(path)
  if (!isThere(file)) {
    try {
      await sqliteDoor()
    } catch (error) {
      return [failed('store', error)]
    }
    const says = `there is none at ${file} yet`
    return [{ what: 'store', state: 'warning', says, fix: "'colloquy serve' or openColloquy makes it" }]
  }
  const findings = [await opens(store, project)]
  const folder = dirname(file)
  await access(folder, constants.W_OK).then(
    () => findings.push({ what: 'folder', state: 'ok', says: `${folder} can be written` }),
    error => findings.push(failed('folder', error, 'check its owner and permissions')),
  )
  const { bavail, bsize } = await statfs(folder)
  const freeMb = Math.floor((bavail * bsize) / 1024 / 1024)
  const isScarce = freeMb < 512
  findings.push({
    what: 'disk',
    state: isScarce ? 'warning' : 'ok',
    says: `${freeMb} MB free`,
    ...(isScarce && { fix: 'free some room: writes are refused when it is full' }),
  })
  return findings
}

async function opens(store: string, project: string | undefined): Promise<Finding> {
  try {
    const { openColloquy } = await import('../../index.ts')
    const colloquy = await openColloquy({ store, readOnly: true, sweepEveryMs: null, ...(project && { project }) })
    const { conversations, events } = await colloquy.stats()
    const projects = await colloquy.projects()
    await colloquy.close()
    const says = `${withoutPassword(store)} opens: ${count(projects.length, 'project')}; ${count(conversations, 'conversation')} and ${count(events, 'event')} in ${colloquy.project}`
    return { what: 'store', state: 'ok', says }
  } catch (error) {
    return failed('store', error, "'colloquy verify' looks closer; --salvage rescues what can be read")
  }
}

function tokenFinding(configured: string | undefined, store: string, root: string): Finding {
  const path = store.startsWith('sqlite:') ? store.slice('sqlite:'.length) : ''
  const folder = path === '' || path === ':memory:' ? resolve(root, '.colloquy') : dirname(resolve(path))
  const file = configured ?? resolve(folder, 'token')
  if (!existsSync(file)) return { what: 'token', state: 'ok', says: 'none yet; the first start of the server makes it' }
  const isOpen = process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0
  if (isOpen) return { what: 'token', state: 'failed', says: `others can read ${file}`, fix: `chmod 600 ${file}` }
  return { what: 'token', state: 'ok', says: `${file}, for its owner alone` }
}

async function modelFinding(name: string | undefined): Promise<Finding> {
  if (name === undefined) return { what: 'model', state: 'ok', says: 'none named: summaries are made offline' }
  try {
    const { openModel } = await import('../../models/open.ts')
    await openModel(name)
    return { what: 'model', state: 'ok', says: `${name} can be opened; no call was made` }
  } catch (error) {
    return { ...failed('model', error, 'set the key, or name another model'), state: 'warning' }
  }
}

function failed(what: string, error: unknown, fix?: string): Finding {
  const says = error instanceof ColloquyError || error instanceof Error ? error.message : String(error)
  return { what, state: 'failed', says, ...(fix && { fix }) }
}

function told({ what, state, says, fix }: Finding): string[] {
  const mark = state === 'ok' ? style.green('ok') : state === 'warning' ? style.yellow('warning') : style.red('failed')
  return [
    `${what.padEnd(14)} ${mark}  ${safeLine(says)}`,
    ...(fix === undefined ? [] : [`${''.padEnd(14)} ${style.dim(safeLine(`→ ${fix}`))}`]),
  ]
}
