/** Behaviour of the command line common to all commands: errors, exit codes, pipes, and hostile text. */
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cliOn, runCli } from '../../support/cli.ts'
import { freshColloquy } from '../../support/colloquy.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const commands = 'list show log search stats verify export archive restore purge erase'.split(' ')

describe('help', () => {
  it('help shows every command with examples and the options that all of them have', async () => {
    const helps = await Promise.all(commands.map(command => runCli([command, '--help'])))
    for (const { exitCode, stdout, stderr } of helps) {
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
      expect(stdout).toMatch(/\nExamples:\n {2}\$ colloquy /)
      // An id that is not whole would not be found.
      expect(stdout).not.toMatch(/\b0[0-9a-f]{7}\b/)
      for (const option of ['--json', '--store <URL>', '--project <NAME>']) expect(stdout).toContain(option)
    }
  })

  it('help of a command is the same by its name, and there is none for an unknown command', async () => {
    const [named, asked, nested, unknown, below] = await Promise.all([
      runCli(['help', 'list']),
      runCli(['list', '--help']),
      runCli(['help', 'store', 'copy']),
      runCli(['help', 'nope']),
      runCli(['help', 'store', 'elsewhere', '--json']),
    ])
    expect(named).toMatchObject({ exitCode: 0, stdout: asked.stdout })
    expect(nested.stdout).toContain('Usage: colloquy store copy')
    expect(unknown).toMatchObject({ exitCode: 2, stdout: '' })
    expect(unknown.stderr).toContain("unknown command 'nope'")
    expect(below.error()).toMatchObject({ code: 'usage', message: "unknown command 'elsewhere'" })
  })

  it('help is printed when no command is named', async () => {
    const { exitCode, stdout, stderr } = await runCli([])
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
    for (const command of commands) expect(stderr).toMatch(new RegExp(`\n {2}${command} `))
  })
})

describe('wrong usage', () => {
  it('wrong usage exits with 2 and says what is wrong', async () => {
    const [unknown, unhelped, ended, missing, value, mixed, json] = await Promise.all([
      runCli(['lst']),
      runCli(['help', 'lst']),
      runCli(['list', '--cursor', '']),
      runCli(['show']),
      runCli(['list', '--limit', 'many']),
      runCli(['list', '--sessions', '--type', 'bead']),
      runCli(['list', '--json', '--bogus']),
    ])
    const all = [unknown, unhelped, ended, missing, value, mixed, json]
    expect(all.map(({ exitCode }) => exitCode)).toEqual(all.map(() => 2))
    for (const { stderr } of [unknown, unhelped]) {
      expect(stderr).toContain("colloquy: unknown command 'lst' (Did you mean list?)")
    }
    expect(ended.stderr).toContain('It must not be empty: there was no further page.')
    expect(missing.stderr).toContain("missing required argument 'id'")
    expect(value.stderr).toContain('It must be a whole number from 1 on.')
    expect(mixed.stderr).toContain('--type does not go with --sessions')
    const message = "unknown option '--bogus'; an id or a text that begins with a dash goes behind --"
    expect(json.error()).toEqual({ code: 'usage', message, facts: {} })
  })
})

describe('an error', () => {
  it('an error is one line that ends with its code, also about an id of two lines', async () => {
    const { store } = await freshColloquy()
    const { exitCode, stderr } = await cliOn(store)('show', 'new\nline')
    expect(exitCode).toBe(1)
    expect(stderr.split('\n')[0]).toMatch(/^colloquy: There is no conversation "new line".* \[not-found\]$/)
  })
})

describe('a range that ends before it begins', () => {
  it('a range that ends before it begins is wrong usage, not an empty answer', async () => {
    const runs = await Promise.all([
      runCli(['search', 'login', '--since', '1d', '--until', '7d']),
      runCli(['log', 'x', '--from', '10', '--to', '5']),
      runCli(['replay', 'x', '--from', '10', '--to', '5']),
    ])
    expect(runs.map(({ exitCode }) => exitCode)).toEqual([2, 2, 2])
    expect(runs[0]!.stderr).toContain('--since comes after --until')
    for (const { stderr } of runs.slice(1)) expect(stderr).toContain('--from comes after --to')
  })
})

describe('what is said for machines', () => {
  it('output for machines is JSON and nothing else, also when no command is named or nothing to look for', async () => {
    const runs = await Promise.all([runCli(['--json']), runCli(['store', '--json']), runCli(['search', ' ', '--json'])])
    for (const one of runs) {
      expect(one).toMatchObject({ exitCode: 2, stdout: '' })
      expect(one.error()).toMatchObject({ code: 'usage' })
    }
  })
})

describe('the password of a store', () => {
  it('the password of a store is not shown: not in an error, nor among the settings', async () => {
    const runs = await Promise.all([
      runCli(['list', '--store', 'postgre://ada:swordfish@db/colloquy', '--json']),
      runCli(['store', 'status', 'postgre://ada:swordfish@db/colloquy']),
      runCli(['config', '--store', 'postgres://ada:swordfish@db/colloquy', '--json']),
      runCli(['doctor', '--store', 'postgres://ada:swordfish@127.0.0.1:1/colloquy']),
    ])
    for (const { stdout, stderr } of runs) expect(stdout + stderr).not.toContain('swordfish')
    expect(runs[0]!.error()).toMatchObject({ facts: { url: 'postgre://ada:***@db/colloquy' } })
    expect(runs[2]!.stdout).toContain('postgres://ada:***@db/colloquy')
  })
})

describe('an id that begins with a dash', () => {
  it('an id that begins with a dash is accepted behind --, and the error without it says so', async () => {
    const { colloquy, store } = await freshColloquy({ ids: () => '-x' })
    await colloquy.conversations.createConversation({ title: 'Dashing' })
    const [refused, shown] = await Promise.all([cliOn(store)('show', '-x'), cliOn(store)('show', '--', '-x')])
    expect(refused.exitCode).toBe(2)
    expect(refused.stderr).toContain("unknown option '-x'; an id or a text that begins with a dash goes behind --")
    expect(shown.stdout).toContain('Dashing')
  })
})

describe('a store that is not there', () => {
  it('a missing store is not created by reading commands', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'none', 'colloquy.db')
    const cli = cliOn(`sqlite:${file}`)
    const runs = await Promise.all([
      cli('list'),
      cli('show', 'x'),
      cli('search', 'x'),
      cli('stats'),
      cli('verify'),
      cli('archive', 'x'),
      cli('run', 'x'),
      cli('resume'),
      cli('ralph', 'x'),
      cli('list', '--json'),
    ])
    for (const { exitCode } of runs) expect(exitCode).toBe(1)
    expect(runs[0]!.stderr).toContain(`colloquy: There is no store at ${file}.`)
    expect(runs[0]!.stderr).toContain('--store sqlite:PATH')
    expect(runs.at(-1)!.error()).toMatchObject({ code: 'store/unusable', facts: { path: file } })
    expect(existsSync(join(folder, 'none'))).toBe(false)
  })

  it('an empty file does not become a store by reading commands', async () => {
    const file = join(temporaryFolder(), 'colloquy.db')
    writeFileSync(file, '')
    const cli = cliOn(`sqlite:${file}`)
    for (const args of [['search', 'x'], ['archive', 'x'], ['list']]) {
      const refused = await cli(...args)
      expect(refused.exitCode).toBe(1)
      expect(refused.stderr).toContain(`${file} is empty: there is no store in it yet. [store/unusable]`)
    }
    expect(statSync(file).size).toBe(0)
  })

  it('a project has to be named where the folder has no name to take', async () => {
    const { store } = await freshColloquy()
    const refused = await runCli(['list', '--store', store], { cwd: '/' })
    expect(refused.exitCode).toBe(1)
    expect(refused.stderr).toContain('project: required')
    expect(await runCli(['list', '--store', store, '--project', 'shop'], { cwd: '/' })).toMatchObject({ exitCode: 0 })
  })

  it('a store is looked for in the root of the current project', async () => {
    const folder = temporaryFolder()
    const inside = join(folder, 'deep', 'inside')
    mkdirSync(inside, { recursive: true })
    mkdirSync(join(folder, '.colloquy'))
    const missing = await runCli(['list'], { cwd: inside })
    expect(missing.stderr).toMatch(/There is no store at .*\.colloquy.colloquy\.db\./)
    expect(readdirSync(join(folder, '.colloquy'))).toEqual([])

    const { colloquy } = await freshColloquy({ store: `sqlite:${join(folder, '.colloquy', 'colloquy.db')}` })
    await colloquy.conversations.createConversation({ title: 'Here' })
    const found = await runCli(['list', '--project', 'shop'], { cwd: inside })
    expect(found.stdout).toContain('Here')
  })
})

describe('output', () => {
  it('output lets no message play tricks on the terminal, and keeps it exact in JSON', async () => {
    const { colloquy, store } = await freshColloquy()
    const nasty = 'a\u001b[2Jb\u0007c\u009b31md\u202ee\u0000f\rg'
    const { id } = await colloquy.conversations.createConversation({
      title: `title \u001b]0;gotcha\u0007`,
      initial: { role: 'user', author: 'mal\u001b[1mlory', content: nasty },
    })
    const cli = cliOn(store)
    const outputs = await Promise.all([
      cli('list'),
      cli('show', id),
      cli('log', id),
      cli('search', 'title'),
      cli('export', id, '--format', 'markdown'),
      cli('archive', id),
    ])
    for (const { stdout, stderr } of outputs) {
      expect(stdout + stderr).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
    }
    expect(outputs[1]!.stdout).toContain('a\\x1b[2Jb\\x07c\\x9b31md\\u{202e}e\\x00f\n  g')
    const json = await cli('show', id, '--json')
    expect(json.stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
    expect(json.json()).toMatchObject({ messages: [{ content: nasty }] })
  })

  it('output has colours only where they are wanted', async () => {
    const { colloquy, store } = await freshColloquy()
    await colloquy.conversations.createConversation({ title: 'Colours' })
    const [piped, forced, refused, off] = await Promise.all([
      cliOn(store, { env: { CI: 'true' } })('list'),
      cliOn(store, { env: { FORCE_COLOR: '1' } })('list'),
      cliOn(store, { env: { FORCE_COLOR: '1', NO_COLOR: '1' } })('list'),
      cliOn(store, { env: { FORCE_COLOR: '0' } })('list'),
    ])
    expect(piped.stdout).not.toContain('\u001b')
    expect(forced.stdout).toContain('\u001b[32mactive\u001b[39m')
    expect(refused.stdout).not.toContain('\u001b')
    expect(off.stdout).not.toContain('\u001b')
  })

  it('output ends quietly when its reader has read enough', async () => {
    const { colloquy, store } = await freshColloquy({ durability: 'relaxed' })
    const { id } = await colloquy.conversations.createConversation({ title: 'Long' })
    const said = 'something to say. '.repeat(400)
    await Promise.all(
      Array.from({ length: 400 }, () => colloquy.conversations.addEvent(id, { role: 'user', content: said })),
    )
    const cli = cliOn(store, { readsLittle: true })
    for (const { exitCode, stderr } of await Promise.all([cli('log', id, '--json'), cli('export', id)])) {
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    }
  })
})
