/**
 * A page for one test: a real Chromium, let in by the address the server prints. What must never happen on any page is
 * watched on every page: an error in the console, something refused by the content policy, a request to elsewhere.
 */
import { createRequire } from 'node:module'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import type { FreshServer } from '../server.ts'
import { launchChromium } from './chromium.ts'

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
/** One for all files of a worker. It ends with the worker's process. */
let browser: Promise<Browser> | undefined

export interface VisitOptions extends BrowserContextOptions {
  /** Path below the server's address. Default: the target of its printed address. */
  path?: string
  /** Errors in the console that the test is about. */
  expects?: RegExp
  /** Comes without a ticket. */
  isStranger?: boolean
}

export interface Visit {
  page: Page
  context: BrowserContext
  /** Errors on the page so far. */
  troubles: string[]
}

/** A new page on a server, with its cookie; gone after the test, which fails when the page had trouble. */
export async function visit(served: Pick<FreshServer, 'running'>, options: VisitOptions = {}): Promise<Visit> {
  const { path, expects, isStranger = false, ...rest } = options
  browser ??= launchChromium()
  const context = await (await browser).newContext({ viewport: { width: 1280, height: 800 }, ...rest })
  context.setDefaultTimeout(20_000)
  const page = await context.newPage()
  const troubles: string[] = []
  onTestFinished(async () => {
    await context.close()
    expect(troubles).toEqual([])
  })
  watch(page, new URL(served.running.url).origin, expects, troubles)
  if (!isStranger) await page.goto(served.running.entry())
  if (path !== undefined) await page.goto(served.running.url + path)
  return { page, context, troubles }
}

function watch(page: Page, origin: string, expects: RegExp | undefined, troubles: string[]): void {
  const note = (text: string) => {
    if (!expects?.test(text)) troubles.push(text)
  }
  page.on('pageerror', error => note(`error: ${error.message}`))
  page.on('console', message => {
    if (message.type() === 'error' || message.type() === 'warning') note(`${message.type()}: ${message.text()}`)
  })
  page.on('request', request => {
    const { protocol, origin: place } = new URL(request.url())
    if (place !== origin && protocol !== 'data:' && protocol !== 'blob:') note(`asked ${request.url()}`)
  })
}

export interface AxeViolation {
  id: string
  help: string
  nodes: Array<{ html: string; failureSummary?: string }>
}

/** Runs automated checks of accessibility and returns each violation with its place. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  // Through the debugger, not as a script of the page: the content policy stays as it is.
  await page.evaluate(await source())
  const violations = (await page.evaluate(
    'axe.run(document, { resultTypes: ["violations"] }).then(found => found.violations)',
  )) as AxeViolation[]
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${help}\n${html.slice(0, 300)}\n${failureSummary ?? ''}`),
  )
}

let loaded: Promise<string> | undefined
function source(): Promise<string> {
  loaded ??= import('node:fs/promises').then(({ readFile }) => readFile(axe, 'utf8'))
  return loaded
}
