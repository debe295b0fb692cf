/** Content is untrusted: whatever a message says, it shows as text and does nothing. */
import { expect, it } from 'vitest'
import { accessibilityProblems, visit } from '../support/pages/browser.ts'
import { freshServer } from '../support/server.ts'

const corpus = [
  '<script>window.hacked = 1</script>',
  '<img src=x onerror="window.hacked = 1">',
  '<svg onload="window.hacked=1"><animate onbegin="window.hacked=1"/></svg>',
  '<iframe srcdoc="<script>parent.hacked=1</script>"></iframe>',
  '<style>body { display: none }</style><link rel=stylesheet href=//evil.example/x.css>',
  '<base href="//evil.example/"><meta http-equiv=refresh content="0;url=//evil.example">',
  '<form action=//evil.example><input name=a><button>Send</button></form>',
  '[click](javascript:window.hacked=1)',
  '[click](JaVaScRiPt:window.hacked=1) [click](data:text/html,<script>window.hacked=1</script>)',
  '[a](  java\nscript:window.hacked=1)',
  '![picture](https://evil.example/pixel.png)',
  '![](//evil.example/pixel.png) <https://evil.example/a"onmouseover="window.hacked=1>',
  '[https://bank.example](https://evil.example)',
  '```html\n<script>window.hacked = 1</script>\n```',
  '`<img src=x onerror=window.hacked=1>`',
  '{{constructor.constructor("window.hacked=1")()}} <%= window.hacked = 1 %> %3Cscript%3E',
  '| <script>window.hacked=1</script> | b |\n|---|---|\n| <img src=x onerror=window.hacked=1> | [x](javascript:1) |',
  '&lt;script&gt;window.hacked=1&lt;/script&gt; &#x3C;script&#x3E;',
  `${'['.repeat(5000)}${'*'.repeat(5000)}${'> '.repeat(5000)}`,
  '\u202Egnp.exe\u202C \u0000 \uFFFF \uD800 zero\u200Bwidth',
  `${'a'.repeat(20_000)}`,
]

it('the pages show a corpus of hostile messages as text, run nothing, and send no request elsewhere', async () => {
  const server = await freshServer()
  const { conversations } = server.colloquy
  const { id } = await conversations.createConversation({ title: '<img src=x onerror="window.hacked=1"> “title”' })
  for (const content of corpus) {
    await conversations.addEvent(id, { role: 'user', author: '<b onclick=hacked=1>mallory</b>', content })
  }
  await conversations.addEvent(id, {
    role: 'assistant',
    parts: [
      { type: 'reasoning', text: corpus[1]! },
      { type: 'tool-call', callId: 'c', name: '<script>', input: { html: corpus[0] } },
      { type: 'tool-result', callId: 'c', output: corpus[1] },
      { type: 'file', name: '"><script>window.hacked=1</script>', url: 'javascript:window.hacked=1', text: corpus[0]! },
    ],
  })
  const { page } = await visit(server, {
    path: `/#/shop/conversations/${id}`,
    viewport: { width: 1280, height: 3000 },
  })
  const timeline = page.getByRole('region', { name: 'Timeline' })
  await timeline.getByText('reasoning', { exact: false }).first().waitFor()
  for (const fold of await timeline.locator('summary').all()) await fold.click()
  const seen = new Set<string>()
  for (let scroll = 0; scroll < 12; scroll++) {
    for (const text of await timeline.locator('.message__body').allTextContents()) seen.add(text)
    await timeline.evaluate(element => element.scrollBy(0, -1500))
    await page.evaluate(() => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve))))
  }
  const all = [...seen].join('\n')
  for (const piece of [
    '<script>window.hacked = 1</script>',
    '<img src=x onerror="window.hacked = 1">',
    '<iframe',
    '<style>',
  ]) {
    expect(all).toContain(piece)
  }
  expect(await page.evaluate(() => 'hacked' in window)).toBe(false)
  expect(await timeline.locator('img, iframe, script, style, form[action], svg, object, embed, base').count()).toBe(0)
  const links = await timeline.locator('.markdown a').evaluateAll(found =>
    found.map(link => ({
      href: link.getAttribute('href') ?? '',
      rel: link.getAttribute('rel'),
      text: link.textContent,
    })),
  )
  for (const { href, rel } of links) {
    expect(href).toMatch(/^(https?|mailto):/)
    expect(rel).toContain('noopener')
  }
  // A link that says one place and leads to another shows where it leads.
  expect(await page.title()).toContain('<img src=x')
  expect(await accessibilityProblems(page)).toEqual([])
})
