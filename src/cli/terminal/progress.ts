/** Progress of long work, on stderr. */
import type { Progress } from '../../log/upkeep.ts'
import { count } from '../text/format.ts'
import { cut } from './text-width.ts'

const everyMs = 100

/** In place of the line before. One that goes on in the next would not be gone with it. */
function overwrite(line: string): void {
  process.stderr.write(`\r${cut(line, (process.stderr.columns || 80) - 1)}\u001b[K`)
}

/** A line that says it, only on a terminal, and gone when the work is done. */
export function progressLine(doing: string, noun: string): { report: Progress; end(): void } {
  if (!process.stderr.isTTY) return { report: () => undefined, end: () => undefined }
  let shownAt = 0
  return {
    report(done, total) {
      const now = Date.now()
      if (now - shownAt < everyMs) return
      shownAt = now
      const share = total > 0 ? ` (${Math.floor((100 * Math.min(done, total)) / total)} %)` : ''
      overwrite(`${doing}: ${count(done)} of ${count(total, noun)}${share}`)
    },
    end() {
      if (shownAt > 0) process.stderr.write('\r\u001b[K')
    },
  }
}

const barWidth = 24
const everyLineMs = 5_000

/** A bar on a terminal, removed at the end; elsewhere a line now and then for a log. */
export function progressBar(noun: string): { report(doing: string, done: number, total: number): void; end(): void } {
  const { isTTY } = process.stderr
  let shownAt = isTTY ? 0 : Date.now()
  let isShown = false
  return {
    report(doing, done, total) {
      const now = Date.now()
      if (now - shownAt < (isTTY ? everyMs : everyLineMs)) return
      shownAt = now
      const share = total > 0 ? Math.min(1, done / total) : 1
      const text = `${Math.floor(100 * share)} %, ${count(done)} of ${count(total, noun)}`
      if (!isTTY) {
        process.stderr.write(`${doing}: ${text}\n`)
        return
      }
      isShown = true
      const full = Math.round(barWidth * share)
      overwrite(`${doing} ${'█'.repeat(full)}${'░'.repeat(barWidth - full)} ${text}`)
    },
    end() {
      if (isShown) process.stderr.write('\r\u001b[K')
      isShown = false
    },
  }
}
