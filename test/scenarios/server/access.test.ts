/** [P12] Closed by default: who gets in, from where, with what; every endpoint of the contract against every way in. */
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { endpoints, listen, ownersToken, tokenBook } from 'colloquy/server'
import { describe, expect, it } from 'vitest'
import { freshServer, type HttpCall, send } from '../../support/server.ts'
import { temporaryFolder } from '../../support/temporary.ts'

/** An address of an endpoint with everything filled in; the project is `shop`. */
function addressOf(path: string, query: Record<string, unknown>): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => (name === 'project' ? 'shop' : 'some'))
  return 'project' in query ? `${filled}?project=shop` : 'project_id' in query ? `${filled}?project_id=shop` : filled
}

describe('[P12] every endpoint', () => {
  it('[P12] every endpoint refuses a caller without a token that is good for its project and scope, from its own address', async () => {
    const { running, token, book } = await freshServer({ configuration: { limits: { requestsPerSecond: null } } })
    const [reader, writer, stranger] = [
      book.add({ name: 'reader', scope: 'read', projects: ['shop'] }).token,
      book.add({ name: 'writer', scope: 'write', projects: ['shop'] }).token,
      book.add({ name: 'stranger', scope: 'admin', projects: ['elsewhere'] }).token,
    ]
    const revoked = book.add({ name: 'gone', scope: 'admin', projects: 'all' })
    book.revoke(revoked.entry.id)
    const credentials = {
      none: undefined,
      wrong: `Bearer clq_${'x'.repeat(43)}`,
      odd: 'Basic b3duZXI6',
      revoked: `Bearer ${revoked.token}`,
      stranger: `Bearer ${stranger}`,
      reader: `Bearer ${reader}`,
      writer: `Bearer ${writer}`,
      owner: `Bearer ${token}`,
    }
    const own = `127.0.0.1:${running.port}`
    const places = {
      right: { host: own, origin: `http://${own}` },
      plain: { host: own },
      'wrong host': { host: 'evil.example' },
      'rebound host': { host: `evil.example:${running.port}` },
      'no port': { host: '127.0.0.1' },
      'wrong origin': { host: own, origin: 'http://evil.example' },
      'other port': { host: own, origin: `http://127.0.0.1:${running.port + 1}` },
      'no origin': { host: own, origin: 'null' },
    }
    const wanted: string[] = []
    const answers: Array<Promise<string>> = []
    for (const { resource, name, endpoint } of endpoints) {
      const path = addressOf(endpoint.path, endpoint.query.shape)
      const isOfProject = /\{project\}|\?project/.test(endpoint.path + path)
      // Streams of their own would stay open; what they refuse, they refuse before.
      const isStream = endpoint.streams === 'text/event-stream'
      for (const [who, authorization] of Object.entries(credentials)) {
        for (const [where, headers] of Object.entries(places)) {
          const isPlaceRight = where === 'right' || where === 'plain'
          const expected = expectation({ who, isPlaceRight, scope: endpoint.scope, isOfProject, path: endpoint.path })
          if (isStream && expected === 'in') continue
          const sent: HttpCall = {
            method: endpoint.method.toUpperCase(),
            headers: { ...headers, authorization, 'content-type': 'application/json' },
          }
          const label = `${resource}.${name} ${who} ${where}`
          wanted.push(`${label}: ${expected}`)
          answers.push(
            send(running, path, sent).then(({ status }) => {
              return `${label}: ${status === 401 ? 401 : status === 403 ? 403 : status >= 500 ? status : 'in'}`
            }),
          )
        }
      }
    }
    const got = await Promise.all(answers)
    expect(got).toEqual(wanted)
    expect(got.length).toBeGreaterThan(5000)
  })
})

function expectation(at: { who: string; isPlaceRight: boolean; scope: string; isOfProject: boolean; path: string }) {
  const { who, isPlaceRight, scope, isOfProject, path } = at
  if (!isPlaceRight) return 403
  if (scope === 'open') return 'in'
  if (['none', 'wrong', 'odd', 'revoked'].includes(who)) return 401
  if (who === 'reader' && scope !== 'read') return 403
  if (who === 'writer' && scope === 'admin') return 403
  if (who === 'stranger' && isOfProject) return 403
  if (['/metrics', '/api/v1/nodes'].includes(path) && who !== 'owner') return 403
  return 'in'
}

describe('[P12] a browser', () => {
  it('[P12] a browser gets in once by the printed address, and then by a cookie that needs a header to change anything', async () => {
    const { running, send } = await freshServer()
    const nobody = { authorization: undefined }
    const { pathname, search } = new URL(running.entry())
    const first = await send(pathname + search, { headers: nobody })
    expect(first).toMatchObject({ status: 303, headers: { location: '/' } })
    const [set = ''] = first.headers['set-cookie'] as string[]
    expect(set).toMatch(/HttpOnly/)
    expect(set).toMatch(/SameSite=Strict/)
    const cookie = set.split(';')[0]!
    const again = await send(pathname + search, { headers: nobody })
    expect(again.status).toBe(401)
    const withCookie = { ...nobody, cookie }
    expect(await send('/', { headers: withCookie })).toMatchObject({ status: 200 })
    expect((await send('/api/v1/me', { headers: withCookie })).json()).toMatchObject({ name: 'owner', scope: 'admin' })
    const body = '{"title":"x"}'
    const write = { method: 'POST', body }
    const path = '/api/v1/projects/shop/conversations'
    const typed = { ...withCookie, 'content-type': 'application/json' }
    expect(await send(path, { ...write, headers: typed })).toMatchObject({ status: 403 })
    expect(await send(path, { ...write, headers: { ...typed, 'colloquy-request': '1' } })).toMatchObject({
      status: 201,
    })
    const foreign = { ...typed, 'colloquy-request': '1', 'sec-fetch-site': 'same-site' }
    expect(await send(path, { ...write, headers: foreign })).toMatchObject({ status: 403 })
    expect(await send('/api/v1/me', { headers: { ...nobody, cookie: `${cookie}x` } })).toMatchObject({ status: 401 })
  })

  it('[P12] a browser may run nothing and load nothing from elsewhere, and may call from configured origins', async () => {
    const { send } = await freshServer({ configuration: { origins: ['http://localhost:5173'] } })
    for (const path of ['/health', '/api/docs', '/nowhere']) {
      const { headers } = await send(path)
      expect(headers['content-security-policy']).toContain("default-src 'none'")
      expect(headers['x-content-type-options']).toBe('nosniff')
      expect(headers['access-control-allow-origin']).toBeUndefined()
    }
    const docs = await send('/api/docs')
    expect(docs.text).toContain('sessions/{sessionId}/messages')
    expect(docs.text).not.toMatch(/<script|(src|href)="(https?:)?\/\//)
    const origin = 'http://localhost:5173'
    const preflight = await send('/api/v1/projects', {
      method: 'OPTIONS',
      headers: { origin, authorization: undefined },
    })
    expect(preflight).toMatchObject({ status: 204, headers: { 'access-control-allow-origin': origin } })
    expect((await send('/api/v1/projects', { headers: { origin } })).headers['access-control-allow-origin']).toBe(
      origin,
    )
  })
})

describe('[P12] what is open', () => {
  it('[P12] health and readiness are open, and they say nothing else', async () => {
    const { running } = await freshServer()
    for (const path of ['/health', '/ready']) {
      expect(await send(running, path)).toMatchObject({ status: 200, text: '{"status":"ok"}' })
    }
    expect(await send(running, '/')).toMatchObject({ status: 401 })
    expect(await send(running, '/nowhere')).toMatchObject({ status: 401 })
  })
})

describe('[P12] tokens', () => {
  it('[P12] tokens are created on first start, readable by their owner alone', () => {
    const file = join(temporaryFolder(), 'deep', 'token')
    const token = ownersToken(file)
    expect(token.length).toBeGreaterThan(40)
    expect(ownersToken(file)).toBe(token)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    writeFileSync(file, 'short')
    expect(() => ownersToken(file)).toThrow('too short')
  })

  it('[P12] tokens of others are kept as digests, hold for their projects, and end when revoked', async () => {
    const { send, book, folder } = await freshServer()
    const { token, entry } = book.add({ name: 'ci', scope: 'write', projects: ['shop'] })
    expect(statSync(join(folder, 'tokens.json')).mode & 0o777).toBe(0o600)
    expect(JSON.stringify(book.list())).not.toContain(token)
    const headers = { authorization: `Bearer ${token}` }
    expect((await send('/api/v1/me', { headers })).json()).toEqual({
      name: 'ci',
      scope: 'write',
      projects: ['shop'],
      project: 'shop',
    })
    // As another process does it.
    expect(tokenBook(join(folder, 'token')).revoke(entry.name)).toBe(true)
    expect(await send('/api/v1/me', { headers })).toMatchObject({ status: 401 })
    expect(book.revoke(entry.name)).toBe(false)
  })

  it('[P12] tokens of a damaged book let no caller in', async () => {
    const { send, book, folder } = await freshServer()
    const { token } = book.add({ name: 'ci', scope: 'write', projects: 'all' })
    writeFileSync(join(folder, 'tokens.json'), '[{"name":"ci"')
    expect(await send('/api/v1/me', { headers: { authorization: `Bearer ${token}` } })).toMatchObject({ status: 401 })
    expect(await send('/api/v1/me')).toMatchObject({ status: 200 })
  })

  it("[P12] tokens of one project write under their own name, and see that project's sessions only", async () => {
    const { send, book, client } = await freshServer()
    await client.sessions.getOrCreate({ project: 'elsewhere', body: { type: 'bead', agentType: 'dev', beadId: 'b' } })
    const { token } = book.add({ name: 'ci', scope: 'write', projects: ['elsewhere'] })
    const headers = { authorization: `Bearer ${token}` }
    expect((await send('/api/v1/beads/b/conversation', { headers })).json()).toMatchObject({ project_id: 'elsewhere' })
    expect(await send('/api/v1/beads/b/conversation')).toMatchObject({ status: 404 })
    expect((await send('/api/v1/projects', { headers })).json()).toEqual({ items: [{ id: 'elsewhere' }] })
  })
})

describe('[P12] where it listens', () => {
  it('[P12] the server listens on loopback, unless it is told otherwise and has a long enough token', async () => {
    const { createServer } = await import('colloquy/server')
    const { colloquy } = await freshServer()
    const token = 'x'.repeat(20)
    const server = createServer({ colloquy, owner: { token, name: 'o' }, configuration: { sweepEveryMs: null } })
    await expect(listen(server, { host: '0.0.0.0', port: 0, token })).rejects.toMatchObject({ code: 'server/refused' })
    await expect(listen(server, { host: '0.0.0.0', port: 0, token, allowOutside: true })).rejects.toThrow('at least 32')
    await server.close()
  })

  it('[P12] the server takes no more requests of a token than its limit', async () => {
    const { send } = await freshServer({ configuration: { limits: { requestsPerSecond: 1 } } })
    const statuses = []
    for (let number = 0; number < 6; number++) statuses.push(await send('/api/v1/me'))
    const refused = statuses.find(({ status }) => status === 429)
    expect(refused?.headers['retry-after']).toBe('1')
    expect(refused?.json()).toMatchObject({ code: 'server/too-many' })
  })
})
