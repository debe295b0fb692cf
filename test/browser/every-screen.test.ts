/** Rules of every screen: accessible in both themes, usable on a narrow screen, below a path, on either store. */
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import type { Demo } from '../support/demo-store.ts'
import { accessibilityProblems, visit } from '../support/pages/browser.ts'
import { demoServer } from '../support/pages/demo-server.ts'
import { freshSchema } from '../support/postgres.ts'

interface Screen {
  name: string
  path(demo: Demo): string
  /** It is there when this is. */
  sign: string
}

const screens: readonly Screen[] = [
  { name: 'projects', path: () => '', sign: 'h1' },
  { name: 'project', path: () => 'shop', sign: 'text=Orders as a file' },
  { name: 'first run', path: () => 'nothing-yet', sign: '.first-run' },
  { name: 'search', path: () => 'shop/search?q=counter', sign: 'mark' },
  {
    name: 'conversation',
    path: ({ conversationId }) => `shop/conversations/${conversationId}?panel=agents`,
    sign: '.agents .budget',
  },
  {
    name: 'past',
    path: ({ conversationId }) => `shop/conversations/${conversationId}?at=9`,
    sign: 'input[type=range]',
  },
  { name: 'session', path: ({ developerSessionId }) => `shop/sessions/${developerSessionId}`, sign: '.piece' },
  {
    name: 'checkpoint',
    path: ({ developerSessionId }) => `shop/sessions/${developerSessionId}?tab=checkpoint`,
    sign: '.checkpoint__item',
  },
  {
    name: 'agent view',
    path: ({ conversationId }) => `shop/conversations/${conversationId}/view?agent=pm`,
    sign: '.piece',
  },
  { name: 'work', path: () => 'shop/work?task=sign-in', sign: '.work__task dl a' },
  { name: 'beads', path: () => 'shop/work?show=beads', sign: '.work__rows li' },
  { name: 'health', path: () => 'shop/health', sign: '.health__rows code, .health__rows li' },
]

const isOtherwise = new Set(['project', 'search', 'conversation'])

async function show(page: Page, url: string, { path, sign }: Screen, demo: Demo): Promise<void> {
  await page.goto(`${url}/#/${path(demo)}`)
  await page.locator(sign).first().waitFor()
  await page.locator('h1').first().waitFor({ state: 'attached' })
}

describe('every screen', () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    it(`every screen has nothing that automated checks of accessibility find (${colorScheme})`, async () => {
      const server = await demoServer()
      await server.client.conversations.create({ project: 'elsewhere', body: { title: 'Another project' } })
      const { page } = await visit(server, { colorScheme })
      const found: Record<string, string[]> = {}
      for (const screen of screens) {
        await show(page, server.running.url, screen, server.demo)
        const problems = await accessibilityProblems(page)
        if (problems.length > 0) found[screen.name] = problems
      }
      expect(found).toEqual({})
    })
  }

  it('every screen fits 360 pixels, without anything to scroll sideways but graphs and code', async () => {
    const server = await demoServer()
    const { page } = await visit(server, { viewport: { width: 360, height: 740 } })
    const wide: Record<string, number> = {}
    for (const screen of screens) {
      await show(page, server.running.url, screen, server.demo)
      const width = await page.evaluate(() => {
        const places = [document.documentElement, ...document.querySelectorAll('.page, .frame__main, .scroller')]
        return Math.max(...places.map(place => place.scrollWidth))
      })
      if (width > 360) wide[screen.name] = width
      // A screen with another narrow layout is checked once more.
      if (isOtherwise.has(screen.name)) expect(await accessibilityProblems(page)).toEqual([])
    }
    expect(wide).toEqual({})
  })

  it('every screen works below a path and on PostgreSQL, with everything it loads and every call it makes, live', async () => {
    const { url } = await freshSchema()
    const server = await demoServer({ open: { store: url }, configuration: { basePath: '/tools/colloquy' } })
    const { page } = await visit(server)
    const elsewhere: string[] = []
    page.on('request', request => {
      const { pathname, protocol } = new URL(request.url())
      if (protocol.startsWith('http') && !pathname.startsWith('/tools/colloquy/')) elsewhere.push(pathname)
    })
    expect(new URL(page.url()).pathname).toBe('/tools/colloquy/')
    for (const screen of screens) await show(page, server.running.url, screen, server.demo)
    const { demo, client } = server
    await show(page, server.running.url, screens.find(({ name }) => name === 'session')!, demo)
    await client.sessions.addMessage({
      sessionId: demo.developerSessionId,
      body: { role: 'user', content: 'Live on PostgreSQL' },
    })
    await page.locator('.piece', { hasText: 'Live on PostgreSQL' }).waitFor()
    await page.goto(server.running.url)
    expect(new URL(page.url()).pathname).toBe('/tools/colloquy/')
    expect(elsewhere.filter(path => path !== '/tools/colloquy')).toEqual([])
  })
})
