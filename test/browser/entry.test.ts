/** The ways in: the printed address, the cookie it becomes, and the page for a browser that has neither. */
import { describe, expect, it } from 'vitest'
import { accessibilityProblems, visit } from '../support/pages/browser.ts'
import { freshServer } from '../support/server.ts'

describe('a browser that opens the printed address', () => {
  it('a browser that opens the printed address lands in the UI, with a cookie and without the ticket in its address', async () => {
    const server = await freshServer()
    const { page } = await visit(server)
    expect(new URL(page.url()).search).toBe('')
    expect(await page.title()).toContain('Colloquy')
  })
})

describe('a browser without a ticket', () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    it(`a browser without a ticket is shown what to do, and can let itself in with the token (${colorScheme})`, async () => {
      const server = await freshServer()
      const { page } = await visit(server, { isStranger: true, path: '/', colorScheme, expects: /401/ })
      expect(await page.textContent('main')).toContain('npm start')
      expect(await accessibilityProblems(page)).toEqual([])
      await page.getByLabel('Token').fill('wrong')
      await page.keyboard.press('Enter')
      await page.getByRole('alert').waitFor()
      expect(await page.getByRole('alert').textContent()).toContain('not the token')
      await page.getByLabel('Token').fill(server.token)
      await page.getByRole('button', { name: 'Enter' }).click()
      await page.waitForURL(`${server.running.url}/`)
      expect(await page.evaluate(() => fetch('/api/v1/me').then(answer => answer.status))).toBe(200)
    })
  }
})
