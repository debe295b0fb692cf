/** The server from the command line: serve, token, config, doctor; and `npm start`. */
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openColloquy } from 'colloquy'
import { connect } from 'colloquy/client'
import { describe, expect, it } from 'vitest'
import { runCli } from '../../support/cli.ts'
import { folderWith } from '../../support/repository.ts'
import { startServe } from '../../support/serve-process.ts'

const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))

describe('colloquy serve', () => {
  it('colloquy serve creates store and token, serves, and on SIGTERM stops without losing what it acknowledged', async () => {
    const folder = folderWith({ 'package.json': '{}' })
    const { child, told, ended } = await startServe(['serve', '--port', '0', '--json', '--project', 'shop'], {
      cwd: folder,
    })
    expect(statSync(told.tokenFile).mode & 0o777).toBe(0o600)
    const { readFileSync } = await import('node:fs')
    const token = readFileSync(told.tokenFile, 'utf8').trim()
    expect(JSON.stringify(told)).not.toContain(token)
    const client = connect({ url: told.url, token, project: 'shop', retries: 0 })
    const { id: conversationId } = await client.conversations.create({ body: { title: 'x' } })
    const acknowledged: string[] = []
    const writing = Array.from({ length: 40 }, async () => {
      for (;;) {
        const said = client.conversations.say({ conversationId, body: { role: 'user', content: 'x' } })
        const { id } = await said
        acknowledged.push(id)
        if (acknowledged.length === 100) child.kill('SIGTERM')
      }
    })
    await Promise.allSettled(writing)
    expect(await ended).toBe(0)
    const colloquy = await openColloquy({ store: told.store, project: 'shop', sweepEveryMs: null })
    const kept = await colloquy.conversations.getMessages(conversationId, { limit: 1000 })
    await colloquy.close()
    expect(acknowledged.length).toBeGreaterThanOrEqual(100)
    expect(kept.map(({ id }) => id)).toEqual(expect.arrayContaining(acknowledged))
  })

  it('colloquy serve is what npm start runs', async () => {
    const folder = folderWith({ 'package.json': '{}' })
    const store = `sqlite:${join(folder, 'c.db')}`
    const args = ['--port', '0', '--json', '--store', store, '--project', 'shop']
    const { child, told, ended } = await startServe(args, { cwd: root, entry: join(root, 'scripts/start.mjs') })
    const page = await fetch(told.entry, { redirect: 'manual' })
    expect(page.status).toBe(303)
    expect(page.headers.get('set-cookie')).toContain('HttpOnly')
    child.kill('SIGINT')
    expect(await ended).toBe(0)
  })

  it('colloquy serve takes a Ctrl-C that comes twice, from the terminal and from npm, for one, and stops cleanly', async () => {
    const folder = folderWith({ 'package.json': '{}' })
    const store = join(folder, 'c.db')
    const args = ['serve', '--port', '0', '--json', '--store', `sqlite:${store}`]
    const { child, told, token, ended } = await startServe(args, { cwd: folder })
    const client = connect({ url: told.url, token, project: told.project, retries: 0 })
    await client.conversations.create({ body: { title: 'x' } })
    child.kill('SIGINT')
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
    expect(existsSync(`${store}-wal`)).toBe(false)
  })

  it.skipIf(process.platform === 'win32')(
    'colloquy serve ends when the shell of npm start is ended, and does not go on alone',
    async () => {
      const folder = folderWith({ 'package.json': '{}' })
      const served = `${process.execPath} ${join(root, 'scripts/start.mjs')} --port 0 --json --store sqlite:c.db`
      const shell = spawn('sh', ['-c', `${served}; true`], {
        cwd: folder,
        env: { ...process.env, npm_lifecycle_event: 'start' },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      // The server has the same output: it is closed when both are gone.
      const gone = new Promise(resolve => shell.on('close', resolve))
      await new Promise(resolve => shell.stdout.on('data', text => String(text).includes('"url"') && resolve(text)))
      shell.kill('SIGTERM')
      await gone
      expect(existsSync(join(folder, 'c.db-wal'))).toBe(false)
    },
  )

  it('colloquy serve refuses to listen beyond loopback without the option, and a port that is taken', async () => {
    const folder = folderWith({ 'package.json': '{}' })
    const { stderr, exitCode } = await runCli(['serve', '--host', '0.0.0.0', '--port', '0'], { cwd: folder })
    expect({ stderr, exitCode }).toEqual({ stderr: expect.stringContaining('--allow-outside'), exitCode: 1 })
    const { told } = await startServe(['serve', '--port', '0', '--json'], { cwd: folder })
    const taken = await runCli(['serve', '--port', new URL(told.url).port], { cwd: folder })
    expect(taken.stderr).toContain('is in use')
  })
})

describe('colloquy token', () => {
  it('colloquy token creates one that is shown once, lists it, and revokes it', async () => {
    const folder = folderWith({ 'package.json': '{}' })
    const made = await runCli(['token', 'create', 'ci', '--scope', 'write', '--for', 'shop', '--json'], { cwd: folder })
    expect(made.json()).toMatchObject({
      name: 'ci',
      scope: 'write',
      projects: ['shop'],
      token: expect.stringMatching(/^clq_/),
    })
    const listed = await runCli(['token', 'list'], { cwd: folder })
    expect(listed.stdout).toMatch(/ci +write +shop/)
    expect(listed.stdout).not.toContain(String(made.json().token))
    expect((await runCli(['token', 'revoke', 'ci'], { cwd: folder })).stdout).toContain('refused from now on')
    expect(await runCli(['token', 'revoke', 'ci'], { cwd: folder })).toMatchObject({ exitCode: 1 })
  })
})

describe('colloquy config', () => {
  it('colloquy config shows the settings in force and where each comes from', async () => {
    const text = 'project: shop\nserver:\n  port: 8123\nconversation:\n  session_expiration: 12h\n  max_tokens: 5000\n'
    const folder = folderWith({ 'package.json': '{}', 'colloquy.config.yaml': text })
    const { settings } = (
      await runCli(['config', '--json', '--store', 'sqlite:x.db'], { cwd: folder, env: { COLLOQUY_PORT: '8124' } })
    ).json() as { settings: Array<{ name: string; value: unknown; from: string }> }
    const of = (name: string) => settings.find(setting => setting.name === name)
    expect(of('store')).toMatchObject({ value: 'sqlite:x.db', from: '--store' })
    expect(of('project')).toMatchObject({ value: 'shop', from: expect.stringContaining('colloquy.config.yaml') })
    expect(of('server.port')).toMatchObject({ value: 8124, from: 'COLLOQUY_PORT' })
    expect(of('server.host')).toMatchObject({ value: '127.0.0.1', from: 'default' })
    expect(of('sessionExpiresInMs')).toMatchObject({ value: 12 * 3_600_000 })
    expect(of('requests.budget')).toMatchObject({ value: 5000 })
    expect((await runCli(['config'], { cwd: folder })).stdout).toMatch(/server\.port +8123 +/)
  })
})

describe('colloquy doctor', () => {
  it('colloquy doctor finds nothing wrong with a store that works', async () => {
    const folder = folderWith({ 'package.json': '{}' })
    const store = `sqlite:${join(folder, 'c.db')}`
    await (await openColloquy({ store, project: 'shop', sweepEveryMs: null })).close()
    const { exitCode, stdout } = await runCli(['doctor', '--store', store, '--project', 'shop'], { cwd: folder })
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/store +ok/)
    expect(stdout).toMatch(/model +ok +none named/)
  })

  it('colloquy doctor says what to fix', async () => {
    const folder = folderWith({ 'package.json': '{}', 'c.db': 'this is no database', token: 'x'.repeat(40) })
    chmodSync(join(folder, 'token'), 0o644)
    const env = { COLLOQUY_MODEL: 'anthropic:claude-haiku-4-5', ANTHROPIC_API_KEY: '' }
    const { exitCode, json } = await runCli(['doctor', '--store', `sqlite:${join(folder, 'c.db')}`, '--json'], {
      cwd: folder,
      env,
    })
    expect(exitCode).toBe(1)
    const { findings } = json() as { findings: Array<{ what: string; state: string; fix?: string }> }
    const of = (what: string) => findings.find(finding => finding.what === what)
    expect(of('store')).toMatchObject({ state: 'failed', fix: expect.any(String) })
    expect(of('token')).toMatchObject({ state: 'failed', fix: expect.stringContaining('chmod 600') })
    expect(of('model')).toMatchObject({ state: 'warning' })
  })
})
