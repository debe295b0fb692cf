/** A line on stderr that says how far long work has come. Only on a terminal, and gone when the work is done. */
import type { Progress } from '../index.ts'
import { count } from './words.ts'

const everyMs = 100

export function progressLine(doing: string, noun: string): { report: Progress; end(): void } {
  if (!process.stderr.isTTY) return { report: () => undefined, end: () => undefined }
  let shownAt = 0
  return {
    report(done, total) {
      const now = Date.now()
      if (now - shownAt < everyMs) return
      shownAt = now
      const share = total > 0 ? ` (${Math.floor((100 * Math.min(done, total)) / total)} %)` : ''
      process.stderr.write(`\r${doing}: ${count(done)} of ${count(total, noun)}${share}\u001b[K`)
    },
    end() {
      if (shownAt > 0) process.stderr.write('\r\u001b[K')
    },
  }
}
