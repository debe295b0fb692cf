/** Pictures of every screen in both themes: a filled store, a real server, a real browser. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openColloquy } from 'colloquy'
import { createServer, listen, newToken } from 'colloquy/server'
import type { Page } from 'playwright-core'
import { type Demo, demoClock, fillDemo } from '../support/demo-store.ts'
import { launchChromium } from '../support/pages/chromium.ts'

interface Picture {
  name: string
  path(demo: Demo): string
  /** Waits for the parts of the picture, and does what it shows. */
  ready(page: Page, demo: Demo): Promise<unknown>
  height?: number
  /** Happens once: both pictures are taken of the same moment. */
  isOnce?: boolean
}

const pictures: readonly Picture[] = [
  {
    name: 'conversations',
    path: () => '#/shop',
    ready: page =>
      page
        .getByRole('link', { name: /passkey/i })
        .first()
        .waitFor(),
  },
  {
    name: 'conversation',
    path: ({ conversationId }) => `#/shop/conversations/${conversationId}?panel=agents`,
    ready: async page => {
      await page.getByText('counter that stands still').waitFor()
      await page.locator('.agents .budget').first().waitFor()
    },
  },
  {
    name: 'session',
    path: ({ developerSessionId }) => `#/shop/sessions/${developerSessionId}`,
    async ready(page) {
      const lines = page.locator('.request__line button')
      await lines.first().waitFor()
      await lines.nth(1).click()
    },
    height: 1000,
  },
  {
    name: 'checkpoint',
    path: ({ developerSessionId }) => `#/shop/sessions/${developerSessionId}?tab=checkpoint`,
    async ready(page) {
      await page.locator('.checkpoint__item').first().waitFor()
      await page.locator('.checkpoint__item button').first().click()
      await page.locator('.checkpoint__sources li').first().waitFor()
    },
    height: 1000,
  },
  {
    name: 'agent-view',
    path: ({ conversationId }) => `#/shop/conversations/${conversationId}/view?agent=pm`,
    ready: page => page.locator('.piece').first().waitFor(),
    height: 900,
  },
  {
    name: 'work',
    path: () => '#/shop/work?feature=passkeys&task=sign-in',
    ready: page => page.getByText('Verify the assertion').first().waitFor(),
  },
  {
    name: 'search',
    path: () => '#/shop/search?q=customer',
    ready: page => page.locator('mark').first().waitFor(),
  },
  {
    name: 'time-travel',
    path: ({ conversationId }) => `#/shop/conversations/${conversationId}?panel=agents&at=12`,
    ready: async page => {
      await page.getByText('nothing leaves our servers').first().waitFor()
      await page.locator('.agents h3').first().waitFor()
    },
  },
  {
    name: 'palette',
    path: ({ conversationId }) => `#/shop/conversations/${conversationId}`,
    async ready(page) {
      await page.getByText('counter that stands still').waitFor()
      await page.keyboard.press('Control+k')
      await page.keyboard.type('pa')
      await page.locator('.palette__entry').first().waitFor()
    },
  },
  {
    name: 'first-run',
    path: () => '#/a-new-project',
    ready: page => page.getByRole('heading', { level: 1 }).waitFor(),
  },
  {
    name: 'demo',
    path: () => '#/till/work?feature=coupons&task=apply-coupon',
    async ready(page) {
      const { connect } = await import('colloquy/client')
      await connect({ url: running.url, token, project: 'till' }).demo.start()
      await page.locator('[data-task="apply-coupon"]', { hasText: 'in qa' }).waitFor()
      await page.locator('.work__at-work a').first().waitFor()
    },
    height: 620,
    isOnce: true,
  },
  {
    name: 'beads',
    path: () => '#/shop/work?show=beads',
    ready: page => page.getByText('Order list is slow').waitFor(),
    height: 620,
  },
  {
    name: 'health',
    path: () => '#/shop/health',
    // Enough samples for lines to be seen.
    ready: page => page.waitForTimeout(13_000),
  },
]

const only = process.argv.slice(2)
const target = join(import.meta.dirname, '..', '..', 'docs', 'screenshots')
const folder = mkdtempSync(join(tmpdir(), 'colloquy-screenshots-'))
const store = `sqlite:${join(folder, 'colloquy.db')}`
const clock = demoClock()
const filling = await openColloquy({ store, project: 'shop', clock: clock.now, sweepEveryMs: null })
const demo = await fillDemo(filling, clock)
await filling.close()

const colloquy = await openColloquy({ store, project: 'shop' })
const token = newToken()
const server = createServer({ colloquy, owner: { token, name: 'owner' }, configuration: { root: folder } })
const running = await listen(server, { port: 0, token })
const browser = await launchChromium()
mkdirSync(target, { recursive: true })
try {
  for (const colorScheme of ['light', 'dark'] as const) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme })
    const page = await context.newPage()
    await page.goto(running.entry())
    for (const { name, path, ready, height = 800, isOnce = false } of pictures) {
      if ((only.length > 0 && !only.includes(name)) || (isOnce && colorScheme === 'dark')) continue
      await page.setViewportSize({ width: 1280, height })
      // Closes what the picture before left open.
      await page.goto('about:blank')
      await page.goto(`${running.url}/${path(demo)}`)
      if (name === 'health') busy().catch(() => undefined)
      await ready(page, demo)
      if (!isOnce) await page.waitForTimeout(400)
      for (const shown of isOnce ? (['light', 'dark'] as const) : [colorScheme]) {
        await page.emulateMedia({ colorScheme: shown })
        await page.screenshot({ path: join(target, `${name}-${shown}.png`) })
        console.log(`${name}-${shown}.png`)
      }
      await page.emulateMedia({ colorScheme })
    }
    await context.close()
  }
} finally {
  await browser.close()
  await running.stop()
  await colloquy.close()
  rmSync(folder, { recursive: true, force: true })
}

/** Something for the charts to show: appends and requests over HTTP, more and less of them. */
async function busy(): Promise<void> {
  const { connect } = await import('colloquy/client')
  // Elsewhere: no other picture shows it.
  const client = connect({ url: running.url, token, project: 'workshop' })
  const session = await client.sessions.getOrCreate({ body: { type: 'thread', agentType: 'dev', threadId: 'load' } })
  for (let round = 0; round < 60; round++) {
    const many = 2 + Math.round(6 * (1 + Math.sin(round / 6)))
    for (let number = 0; number < many; number++) {
      await client.sessions.addMessage({ sessionId: session.id, body: { role: 'user', content: `Message ${round}` } })
    }
    await client.sessions.request({ sessionId: session.id, body: { message: 'And now?' } })
    await new Promise(resolve => setTimeout(resolve, 200))
  }
}
