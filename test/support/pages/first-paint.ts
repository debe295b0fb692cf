/** Measures the time from loading the page until the newest message of a conversation is shown. */
import type { Page } from 'playwright-core'

/** The conversation is one of `longConversation`. */
export async function firstPaint(page: Page, address: string, messages: number): Promise<number> {
  await page.goto('about:blank')
  const started = performance.now()
  await page.goto(address, { waitUntil: 'commit' })
  await page.getByText(`Message number ${messages}.`).waitFor()
  return performance.now() - started
}
