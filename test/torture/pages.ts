/**
 * The page of a conversation of 100,000 messages: its first paint compared with a short one, and scrolling, which must
 * fill neither the page with rows nor the memory with messages.
 */
import type { Colloquy } from 'colloquy'
import { createServer, listen, newToken } from 'colloquy/server'
import type { Browser, CDPSession, Page } from 'playwright-core'
import { launchChromium } from '../support/pages/chromium.ts'
import { firstPaint as paint } from '../support/pages/first-paint.ts'
import { longConversation } from '../support/pages/long-conversation.ts'
import { random } from './random.ts'

export interface PagesReport {
  /** Milliseconds until the newest message is on the page, by length: the median of five. */
  firstPaint: ReadonlyMap<number, number>
  mostRows: number
  mostNodes: number
  heapMb: { before: number; most: number; after: number }
  problems: string[]
}

const allowed = { rows: 120, nodes: 6000, heapMb: 60 }

export async function pages(input: {
  colloquy: Colloquy
  lengths: readonly number[]
  jumps: number
  seed: number
  onJump(done: number): void
}): Promise<PagesReport> {
  const { colloquy, lengths, jumps, seed, onJump } = input
  const token = newToken()
  const server = createServer({ colloquy, owner: { token, name: 'owner' }, configuration: { sweepEveryMs: null } })
  const running = await listen(server, { port: 0, token })
  const browser = await launchChromium()
  try {
    const conversations = new Map<number, string>()
    for (const length of lengths) conversations.set(length, await longConversation(colloquy, length))
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
    const page = await context.newPage()
    await page.goto(running.entry())
    const firstPaint = new Map<number, number>()
    for (const [length, id] of conversations) {
      const times: number[] = []
      for (let round = 0; round < 5; round++)
        times.push(await paint(page, `${running.url}/#/shop/conversations/${id}`, length))
      firstPaint.set(length, times.sort((a, b) => a - b)[2]!)
    }
    const longest = Math.max(...lengths)
    await page.getByText(`Message number ${longest}.`).waitFor()
    const scrolled = await scrollAbout(page, { jumps, seed, longest, onJump })
    return { firstPaint, ...scrolled }
  } finally {
    await close(browser)
    await running.stop()
  }
}

async function scrollAbout(
  page: Page,
  { jumps, seed, longest, onJump }: { jumps: number; seed: number; longest: number; onJump(done: number): void },
): Promise<Omit<PagesReport, 'firstPaint'>> {
  const chance = random(seed)
  const problems: string[] = []
  const devtools = await page.context().newCDPSession(page)
  const before = await heapMb(devtools)
  let mostRows = 0
  let mostNodes = 0
  let peak = before
  for (let jump = 0; jump < jumps; jump++) {
    const share = chance.below(10_000) / 10_000
    const isNear = jump % 3 !== 0
    await page.locator('.scroller').evaluate(
      (element, { share, isNear }) => {
        if (isNear) element.scrollBy(0, (share - 0.5) * 4000)
        else element.scrollTo(0, share * element.scrollHeight)
      },
      { share, isNear },
    )
    await page
      .locator('.message')
      .first()
      .waitFor({ timeout: 20_000 })
      .catch(() => problems.push(`jump ${jump} shows nothing`))
    const rows = await page.locator('.scroller__row').count()
    const nodes = await page.locator('*').count()
    mostRows = Math.max(mostRows, rows)
    mostNodes = Math.max(mostNodes, nodes)
    if (jump % 25 === 24) peak = Math.max(peak, await heapMb(devtools))
    onJump(jump + 1)
  }
  await page.locator('.scroller').evaluate(element => element.scrollTo(0, 0))
  await page.getByText('Message number 1.', { exact: false }).first().waitFor()
  await page.locator('.scroller').evaluate(element => element.scrollTo(0, element.scrollHeight))
  await page.getByText(`Message number ${longest}.`).waitFor()
  const after = await heapMb(devtools)
  if (mostRows > allowed.rows) problems.push(`${mostRows} rows were on the page at once`)
  if (mostNodes > allowed.nodes) problems.push(`${mostNodes} elements were on the page at once`)
  if (Math.max(peak, after) > allowed.heapMb) problems.push(`the page took ${Math.max(peak, after).toFixed(0)} MB`)
  return { mostRows, mostNodes, heapMb: { before, most: Math.max(peak, after), after }, problems }
}

async function heapMb(devtools: CDPSession): Promise<number> {
  await devtools.send('HeapProfiler.collectGarbage')
  const { usedSize } = await devtools.send('Runtime.getHeapUsage')
  return usedSize / 1_000_000
}

async function close(browser: Browser): Promise<void> {
  await browser.close().catch(() => undefined)
}
