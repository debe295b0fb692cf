/** The package as others install it: what is in it, and what programs are told that cannot use the store. */
import { execFile } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ColloquyError } from 'colloquy'
import * as errors from 'colloquy/errors'
import { build } from 'vite'
import { beforeAll, describe, expect, it } from 'vitest'
import { runCli } from '../../support/cli.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const execute = promisify(execFile)
const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))

describe('what is packed', () => {
  let packed: Set<string>
  beforeAll(async () => {
    const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
    const { stdout } = await execute(npm, ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root })
    // Newer versions of npm give the packages by name, older ones as a list.
    const [{ files }] = Object.values(JSON.parse(stdout)) as [{ files: Array<{ path: string }> }]
    packed = new Set(files.map(({ path }) => path))
  })

  it('the package has every door with its types', () => {
    const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const named = Object.values(exports as Record<string, string | Record<string, string>>)
    const files = named.flatMap(door => (typeof door === 'string' ? door : Object.values(door)))
    expect(files.filter(file => !packed.has(normalize(file)))).toEqual([])
  })

  it('the package has what its pages link to', () => {
    const leads = [...packed]
      .filter(path => path.endsWith('.md'))
      .flatMap(page =>
        linksOf(readFileSync(join(root, page), 'utf8')).map(link => ({
          page,
          link,
          target: normalize(join(dirname(page), link)).replace(/\/$/, ''),
        })),
      )
    const isPacked = (target: string) => packed.has(target) || [...packed].some(path => path.startsWith(`${target}/`))
    expect(leads.filter(({ target }) => !isPacked(target))).toEqual([])
  })
})

it('The main door exports at most 60 names.', () => {
  const types = readFileSync(join(root, 'dist/types/index.d.ts'), 'utf8')
  expect(types).not.toContain('export *')
  const lists = [...types.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names]) => names!.split(','))
  const single = [...types.matchAll(/^export (?:declare )?(?:type|interface|const|function|class) \w+/gm)]
  const names = lists.filter(name => name.trim() !== '').length + single.length
  expect(names).toBeGreaterThan(40)
  expect(names).toBeLessThanOrEqual(60)
})

it('the package calls its errors by the names it exports', () => {
  const classes = Object.entries(errors).filter(([, value]) => value === ColloquyError || isError(value))
  expect(classes.length).toBeGreaterThan(30)
  // A bundler renames one of two classes with the same name, and a caught error would carry the new name.
  expect(classes.filter(([name, one]) => name !== (one as { name: string }).name)).toEqual([])

  function isError(value: unknown): boolean {
    return typeof value === 'function' && value.prototype instanceof ColloquyError
  }
})

describe('a program that cannot use the embedded store', () => {
  it('a program whose bundler left the worker behind gets an error at opening, and no file is made', async () => {
    const { folder, program } = await bundledProgram()
    const { stdout } = await execute(process.execPath, [program], { cwd: folder })
    expect(stdout).toMatch(/^store\/unusable: .*bundled.*Keep the package external/)
    expect(existsSync(join(folder, 'colloquy.db'))).toBe(false)
  })

  it('a program that takes the file of the worker along can use the embedded store', async () => {
    const { folder, program } = await bundledProgram()
    cpSync(join(root, 'dist/sqlite-worker.js'), join(folder, 'bundle/assets/sqlite-worker.js'))
    const { stdout } = await execute(process.execPath, [program], { cwd: folder })
    expect(stdout).toBe('found 1, refused: input/invalid\n')
  })

  // webpack would copy the file, which then seems to be there, and start a worker of its own making, which fails. Tools
  // that gather what a program loads, such as that of Next.js, find the worker only where it is started.
  it('a program bundled by webpack can use the embedded store: webpack leaves the worker alone', () => {
    const door = readFileSync(join(root, 'dist/sqlite.js'), 'utf8').replaceAll(/\s+/g, ' ')
    const address = 'new URL( /* webpackIgnore: true */ "./sqlite-worker.js", import.meta.url )'
    expect(door.split('-worker.js"')).toHaveLength(3)
    expect(door.split(address)).toHaveLength(3)
    expect(door).toContain(`new Worker( /* webpackIgnore: true */ ${address}, {`)
  })

  it('a program and the doctor report when SQLite cannot be loaded on this machine', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'program.mjs'), opening(join(root, 'dist/index.js')))
    const env = { ...process.env, NODE_OPTIONS: withoutSqlite }
    const { stdout } = await execute(process.execPath, ['program.mjs'], { cwd: folder, env })
    expect(stdout).toMatch(/^store\/unusable: .*No native build.*npm rebuild/)

    const doctor = await runCli(['doctor', '--json'], { cwd: folder, env: { NODE_OPTIONS: withoutSqlite } })
    expect(doctor.exitCode).toBe(1)
    expect(doctor.json().findings).toContainEqual(
      expect.objectContaining({ what: 'store', state: 'failed', says: expect.stringMatching(/No native build/) }),
    )
  })
})

/** Such a program with the package in it, as Vite makes it, every name made short. */
async function bundledProgram(): Promise<{ folder: string; program: string }> {
  const folder = temporaryFolder()
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'program.js'), opening(join(root, 'dist/index.js')))
  await build({
    configFile: false,
    root: folder,
    logLevel: 'error',
    ssr: { noExternal: true, external: ['@photostructure/sqlite'] },
    build: { ssr: 'program.js', outDir: 'bundle', minify: true },
  })
  const [program = ''] = readdirSync(join(folder, 'bundle')).filter(name => name.startsWith('program.'))
  return { folder, program: join('bundle', program) }
}

/** A program that uses a store in the folder it runs in, and prints what became of it. */
function opening(door: string): string {
  return `
    import { openColloquy } from ${JSON.stringify(door)}
    console.log(await openColloquy({ store: 'sqlite:colloquy.db', project: 'shop' }).then(
      async colloquy => {
        const { id } = await colloquy.conversations.createConversation({ title: 'Till' })
        await colloquy.conversations.addEvent(id, { role: 'user', content: 'the till is open' })
        const { messages } = await colloquy.conversations.search({ text: 'till' })
        const { code } = await colloquy.audit({ cursor: 'junk' }).catch(error => error)
        await colloquy.close()
        return 'found ' + messages.length + ', refused: ' + code
      },
      ({ code, message }) => code + ': ' + message,
    ))`
}

/** As on a machine that SQLite was not compiled for. */
const withoutSqlite = `--import=${inUrl(`
  import { register } from 'node:module'
  const absent = ${JSON.stringify(inUrl(`export let DatabaseSync; throw new Error('No native build was found')`))}
  const hook = (name, context, next) =>
    name === '@photostructure/sqlite' ? { url: 'ABSENT', shortCircuit: true } : next(name, context)
  register('data:text/javascript,' + encodeURIComponent('export const resolve = ' + String(hook).replace('ABSENT', absent)))
`)}`

function inUrl(code: string): string {
  return `data:text/javascript,${encodeURIComponent(code).replaceAll("'", '%27')}`
}

/** Links to files, without their fragments; addresses elsewhere are left out. */
function linksOf(page: string): string[] {
  return [...page.matchAll(/\]\(([^)\s#]+)[^)\s]*\)/g)].map(([, link = '']) => link).filter(link => !/^\w+:/.test(link))
}
