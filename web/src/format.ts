/** Numbers, sizes and times for display. */

/** 980, 1.2k, 183k, 4.1M. */
export function short(count: number): string {
  const size = Math.abs(count)
  if (size < 1000) return String(Math.round(count))
  const [value, unit] = size < 999_500 ? [count / 1000, 'k'] : [count / 1_000_000, 'M']
  return `${Math.abs(value) < 9.95 ? value.toFixed(1).replace(/\.0$/, '') : Math.round(value)}${unit}`
}

const digits = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

/** 12,345: where the exact figure matters. */
export function whole(count: number): string {
  return digits.format(count)
}

/** 1 message, 12 messages, 1.2k messages. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${short(count)} ${count === 1 ? noun : plural}`
}

export function bytes(size: number): string {
  if (size < 1000) return `${size} B`
  return size < 1_000_000 ? `${(size / 1000).toFixed(size < 10_000 ? 1 : 0)} kB` : `${(size / 1_000_000).toFixed(1)} MB`
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  const seconds = ms / 1000
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

export function dollars(cost: number): string {
  return cost < 0.01 && cost > 0 ? `$${cost.toFixed(4)}` : `$${cost.toFixed(2)}`
}

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** Short, because it appears in every row: now, 5 min, 3 h, 2 d; older ones as a date. */
export function relative(iso: string, now: number): string {
  const past = now - Date.parse(iso)
  if (Number.isNaN(past)) return iso
  if (past < -minute) return exact(iso)
  if (past < minute) return 'now'
  if (past < hour) return `${Math.floor(past / minute)} min`
  if (past < day) return `${Math.floor(past / hour)} h`
  if (past < 7 * day) return `${Math.floor(past / day)} d`
  const sameYear = new Date(iso).getFullYear() === new Date(now).getFullYear()
  const date: Intl.DateTimeFormatOptions = { month: 'short', day: 'numeric', ...(!sameYear && { year: 'numeric' }) }
  return new Intl.DateTimeFormat('en', date).format(new Date(iso))
}

const moment = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' })

export function exact(iso: string): string {
  const time = Date.parse(iso)
  return Number.isNaN(time) ? iso : moment.format(time)
}

/** The first words of a text, on one line. */
export function firstWords(text: string, length = 120): string {
  const line = text
    .slice(0, length * 4)
    .replaceAll(/\s+/g, ' ')
    .trim()
  return line.length > length ? `${line.slice(0, length - 1)}…` : line
}
