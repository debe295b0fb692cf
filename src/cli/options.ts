/** Options that every command has, and how the values of options are read. */
import { type Command, InvalidArgumentError } from 'commander'
import { isDay } from '../log/events/time.ts'

export interface GlobalOptions {
  json?: boolean
  store?: string
  project?: string
  config?: string
}

export function wholeNumber(text: string): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < 1) {
    throw new InvalidArgumentError('It must be a whole number from 1 on.')
  }
  return value
}

/** The limit of a query that has to learn whether there are more than `limit`. */
export const oneMore = (limit: number) => Math.min(limit + 1, Number.MAX_SAFE_INTEGER)

/** Parses a whole number from 0 on. */
export function wholeNumberOrNone(text: string): number {
  return /^0+$/.test(text) ? 0 : wholeNumber(text)
}

/** An empty one would be the first page again, and a script that goes on as long as there is one would never end. */
export function cursorText(text: string): string {
  if (text === '') throw new InvalidArgumentError('It must not be empty: there was no further page.')
  return text
}

/** 0 to 9. */
export function priorityNumber(text: string): number {
  if (!/^\d$/.test(text)) throw new InvalidArgumentError('It must be a number from 0, the most urgent, to 9.')
  return Number(text)
}

/** A list such as `active,completed`, each of them one of `choices`. */
export function someOf<T extends string>(choices: readonly T[]): (text: string) => T[] {
  return text => {
    const values = text.split(',').map(value => value.trim())
    const wrong = values.find(value => !choices.includes(value as T))
    if (wrong !== undefined) throw new InvalidArgumentError(`Choose from ${choices.join(', ')}; several with commas.`)
    return values as T[]
  }
}

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** ISO times have four digits for the year; other programs do not read longer ones. */
const firstTime = Date.parse('0000-01-01T00:00:00Z')
const lastTime = Date.parse('9999-12-31T23:59:59.999Z')

/** `2026-03-01`, `2026-03-01T14:00`, or `7d` (ago), as an ISO time. A day alone starts at its midnight here. */
export const since = (text: string) => timeOf(text, 'T00:00:00.000')

/** Like `since`, but a day alone counts to its last moment. */
export const until = (text: string) => timeOf(text, 'T23:59:59.999')

function timeOf(text: string, timeOfDay: string): string {
  const [, amount, unit] = text.match(/^(\d+)([mhdw])$/) ?? []
  const time =
    amount !== undefined
      ? Date.now() - Number(amount) * unitMs[unit as keyof typeof unitMs]
      : timeOfDate(text, timeOfDay)
  if (!(time >= firstTime && time <= lastTime)) {
    throw new InvalidArgumentError('Give a date (2026-03-01), a time (2026-03-01T14:00) or an age (30m, 12h, 7d, 2w).')
  }
  return new Date(time).toISOString()
}

const date = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?))?$/i

/** `Date.parse` alone makes 2001 of "1", the 2nd of March of the 30th of February, and a month begin elsewhere. */
function timeOfDate(text: string, timeOfDay: string): number {
  const [, day, time] = text.match(date) ?? []
  if (day === undefined || !isDay(day)) return Number.NaN
  return Date.parse(time === undefined ? day + timeOfDay : `${day}T${time.toUpperCase()}`)
}

/** A range that ends before it begins would be an empty answer that looks like a true one. */
export function refuseBackwards<T extends number | string>(
  command: Command,
  [first, from]: readonly [option: string, value: T | undefined],
  [last, to]: readonly [option: string, value: T | undefined],
): void {
  if (from !== undefined && to !== undefined && from > to) command.error(`error: ${first} comes after ${last}.`)
}

/** The part of a command's help that shows it at work. */
export function examples(...lines: ReadonlyArray<readonly [command: string, does: string]>): string {
  const width = Math.max(...lines.map(([command]) => command.length))
  return `\nExamples:\n${lines.map(([command, does]) => `  $ colloquy ${command.padEnd(width)}  # ${does}`).join('\n')}`
}
