/** The UI: first paint of a long conversation compared with a short one, and the size of the pages. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { createServer, listen, newToken } from 'colloquy/server'
import { launchChromium } from '../test/support/pages/chromium.ts'
import { firstPaint } from '../test/support/pages/first-paint.ts'
import { longConversation } from '../test/support/pages/long-conversation.ts'
import type { Benchmark, Finding, Tell } from './support/benchmark.ts'
import { inTemporaryFolder } from './support/folder.ts'
import { median, Rounds } from './support/measure.ts'
import { openAt } from './support/ours.ts'
import type { Sizes } from './support/sizes.ts'
import { count, milliseconds } from './support/units.ts'

/** Maximum packed size of all pages. */
const mostKilobytes = 350

export const web: Benchmark = {
  name: 'web',
  title: 'The UI in a browser',
  about:
    "From the beginning of loading the page (its files from the browser's cache, as on any visit but the first) until the newest message of a conversation is on it, in headless Chromium over loopback; a long conversation next to a short one, in the same rounds. The weight is of all files, each packed with gzip; a visit loads those of its screens.",
  run,
}

function run(sizes: Sizes, tell: Tell): Promise<Finding[]> {
  return inTemporaryFolder(folder => painted(folder, sizes, tell))
}

async function painted(folder: string, sizes: Sizes, tell: Tell): Promise<Finding[]> {
  const { short, long, rounds: times } = sizes.web
  const colloquy = await openAt(join(folder, 'colloquy.db'))
  const token = newToken()
  const server = createServer({ colloquy, owner: { token, name: 'owner' }, configuration: { sweepEveryMs: null } })
  const running = await listen(server, { port: 0, token })
  const browser = await launchChromium()
  try {
    tell('writing conversations')
    const [shortId, longId] = [await longConversation(colloquy, short), await longConversation(colloquy, long)]
    const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage()
    await page.goto(running.entry())
    const place = (id: string) => `${running.url}/#/${encodeURIComponent(colloquy.project)}/conversations/${id}`
    const rounds = new Rounds()
    tell('painting')
    for (let round = -1; round < times; round++) {
      const baseline = await firstPaint(page, place(shortId), short)
      const ours = await firstPaint(page, place(longId), long)
      if (round >= 0) rounds.add({ baseline, ours })
    }
    return [
      {
        what: `first paint: ${count(long)} messages to ours at ${count(short)}`,
        ours: milliseconds(median(rounds.ours)),
        baseline: `${milliseconds(median(rounds.baseline))} (ours)`,
        ratio: rounds.ratio,
        spread: rounds.spread,
        target: { atMost: 1.3 },
      },
      weight(),
    ]
  } finally {
    await browser.close()
    await running.stop()
    await colloquy.close()
  }
}

function weight(): Finding {
  const folder = fileURLToPath(new URL('../dist/web', import.meta.url))
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  const bytes = files
    .map(({ parentPath, name }) => gzipSync(readFileSync(join(parentPath, name)), { level: 9 }).length)
    .reduce((sum, one) => sum + one, 0)
  const measured = bytes / 1000
  return {
    what: `all files of the UI, packed (${files.length} files)`,
    ours: `${measured.toFixed(0)} kB`,
    measured,
    target: { atMost: mostKilobytes },
  }
}
