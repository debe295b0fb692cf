/** The UI's files over HTTP: who gets them, how they are kept, what no path reaches; and how large they are. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { freshServer, send } from '../../support/server.ts'

const built = join(dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url))))), 'dist', 'web')
const assets = readdirSync(join(built, 'assets')).map(name => `/assets/${name}`)
const paths = ['/', '/theme.js', '/icon.svg', ...assets]
const page = { accept: 'text/html,application/xhtml+xml' }

describe('[P12] the files of the UI', () => {
  it('[P12] the files of the UI are for callers that were let in, and for no other', async () => {
    const { running, token, book } = await freshServer({ configuration: { limits: { requestsPerSecond: null } } })
    const reader = book.add({ name: 'reader', scope: 'read', projects: ['shop'] }).token
    const host = `127.0.0.1:${running.port}`
    for (const path of paths) {
      const ask = (headers: Record<string, string>) => send(running, path, { headers: { host, ...headers } })
      expect(await ask({}), path).toMatchObject({ status: 401 })
      expect(await ask({ authorization: `Bearer clq_${'x'.repeat(43)}` }), path).toMatchObject({ status: 401 })
      expect(await ask({ cookie: `colloquy-${running.port}=1.2.3` }), path).toMatchObject({ status: 401 })
      expect(await ask({ authorization: `Bearer ${token}`, host: 'evil.example' }), path).toMatchObject({ status: 403 })
      expect(await ask({ authorization: `Bearer ${token}`, origin: 'http://evil.example' })).toMatchObject({
        status: 403,
      })
      expect(await ask({ authorization: `Bearer ${reader}` }), path).toMatchObject({ status: 200 })
      expect(await ask({ authorization: `Bearer ${token}` }), path).toMatchObject({ status: 200 })
    }
  })

  it('[P12] the files of the UI are cached permanently where their name changes with their content, and revalidated elsewhere', async () => {
    const { send } = await freshServer()
    for (const path of paths) {
      const { headers } = await send(path)
      expect(headers['cache-control'], path).toBe(
        path.startsWith('/assets/') ? 'private, max-age=31536000, immutable' : 'private, no-cache',
      )
      const again = await send(path, { headers: { 'if-none-match': String(headers.etag) } })
      expect(again, path).toMatchObject({ status: 304, text: '' })
    }
    expect((await send('/')).headers['content-type']).toBe('text/html; charset=utf-8')
  })

  it('[P12] the files of the UI run nothing and load nothing that is not theirs', async () => {
    const { send } = await freshServer()
    for (const path of paths) {
      const policy = String((await send(path)).headers['content-security-policy'])
      expect(policy).toContain("default-src 'none'")
      expect(policy).not.toMatch(/unsafe|https?:|\*|blob:|nonce|sha256/)
    }
    const index = (await send('/')).text
    expect(index).not.toMatch(/<style|<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=|(src|href)="(?!\.\/)/)
  })

  it('[P12] only the files of the UI are served: no path leads elsewhere, and a browser is sent to the start page', async () => {
    const { send } = await freshServer()
    const tries = [
      '/../package.json',
      '/assets/../../cli/main.js',
      '/assets/%2e%2e/%2e%2e/package.json',
      '/..%2fpackage.json',
      '/assets//',
      '/assets',
      '/.built-ui',
      '/index.html%00.js',
      '/src/main.tsx',
    ]
    for (const path of tries) expect((await send(path)).status, path).toBe(404)
    expect(await send('/shop/anything', { headers: page })).toMatchObject({ status: 302, headers: { location: '/' } })
    expect(await send('/api/nowhere', { headers: page })).toMatchObject({ status: 404 })
    expect(await send('/', { method: 'POST', body: '{}' })).toMatchObject({ status: 404 })
  })

  it('the files of the UI come packed to a client that accepts that', async () => {
    const { running, token } = await freshServer()
    const path = assets.find(name => name.endsWith('.js'))!
    const answer = await fetch(`${running.url}${path}`, {
      headers: { authorization: `Bearer ${token}`, 'accept-encoding': 'gzip' },
    })
    expect(answer.headers.get('content-encoding')).toBe('gzip')
    expect(await answer.text()).toBe(readFileSync(join(built, path), 'utf8'))
    const plain = await send(running, path, { headers: { authorization: `Bearer ${token}` } })
    expect(plain.headers['content-encoding']).toBeUndefined()
  })

  it('the files of the UI are less than 350 kB together, packed', () => {
    const size = paths
      .map(path => (path === '/' ? 'index.html' : path))
      .map(name => gzipSync(readFileSync(join(built, name)), { level: 9 }).length)
      .reduce((sum, one) => sum + one, 0)
    expect(size).toBeLessThan(350_000)
  })
})

describe('[P12] the way in', () => {
  it('[P12] a browser without a token gets a page and a program gets a problem', async () => {
    const { running } = await freshServer()
    const asPage = await send(running, '/', { headers: page })
    expect(asPage).toMatchObject({ status: 401 })
    expect(asPage.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(asPage.text).toContain('npm start')
    expect(asPage.text).not.toMatch(/<script/)
    expect((await send(running, '/')).json()).toMatchObject({ code: 'access/required' })
    expect((await send(running, '/api/v1/me', { headers: page })).json()).toMatchObject({ code: 'access/required' })
  })

  it("[P12] the sign-in page accepts the owner's token from itself and from nowhere else, and not many wrong ones", async () => {
    const { running, token, book } = await freshServer()
    const other = book.add({ name: 'ci', scope: 'admin', projects: 'all' }).token
    const host = `127.0.0.1:${running.port}`
    const form = { 'content-type': 'application/x-www-form-urlencoded', host, ...page }
    const enter = (token: string, headers: Record<string, string>) =>
      send(running, '/enter', {
        method: 'POST',
        body: `token=${encodeURIComponent(token)}`,
        headers: { 'content-length': String(`token=${encodeURIComponent(token)}`.length), ...headers },
      })
    const origin = `http://${host}`
    expect(await enter(token, { ...form, origin: 'http://evil.example' })).toMatchObject({ status: 403 })
    expect(await enter(token, form)).toMatchObject({ status: 401 })
    expect(await enter(token, { ...form, origin, 'content-type': 'text/plain' })).toMatchObject({ status: 401 })
    expect(await enter('x'.repeat(10_000), { ...form, origin })).toMatchObject({ status: 401 })
    expect(await enter(other, { ...form, origin })).toMatchObject({ status: 401 })
    const right = await enter(token, { ...form, origin })
    expect(right).toMatchObject({ status: 303, headers: { location: '/' } })
    expect(String(right.headers['set-cookie'])).toMatch(/HttpOnly.*SameSite=Strict/)
    const many = []
    for (let number = 0; number < 20; number++) many.push(await enter('wrong', { ...form, origin }))
    expect(many.some(({ status }) => status === 429)).toBe(true)
  })
})

describe('[P12] a server below a path', () => {
  it('[P12] a server below a path answers there and where a proxy has taken the path off, with a cookie for that path alone', async () => {
    const { running, token } = await freshServer({ configuration: { basePath: 'tools/colloquy/' } })
    expect(running.url).toMatch(/\/tools\/colloquy$/)
    const authorization = `Bearer ${token}`
    for (const path of ['/tools/colloquy/api/v1/me', '/api/v1/me', '/tools/colloquy/', '/tools/colloquy/health']) {
      expect(await send(running, path, { headers: { authorization } }), path).toMatchObject({ status: 200 })
    }
    expect(await send(running, '/tools/colloquyx/api/v1/me', { headers: { authorization } })).toMatchObject({
      status: 404,
    })
    expect(await send(running, '/tools/colloquy', { headers: { authorization } })).toMatchObject({
      status: 302,
      headers: { location: '/tools/colloquy/' },
    })
    const { pathname, search } = new URL(running.entry())
    const entered = await send(running, pathname + search)
    expect(entered).toMatchObject({ status: 303, headers: { location: '/tools/colloquy/' } })
    expect(String(entered.headers['set-cookie'])).toContain('Path=/tools/colloquy')
    const docs = await send(running, '/tools/colloquy/api/docs', { headers: { authorization } })
    expect(docs.text).toContain('href="/tools/colloquy/api/docs.css"')
  })
})
