/** Formats times, counts, statuses and work items for a person. */

import type { WorkItem } from '../../index.ts'
import type { ConversationStatus } from '../../log/views/conversation.ts'
import type { SessionStatus } from '../../log/views/session.ts'
import { safeLine } from '../terminal/safe-text.ts'
import { style } from '../terminal/terminal.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** `5 min ago`, `in 3 h`; the date when it is more than a month away. */
export function relativeTime(iso: string, now = Date.now()): string {
  const distance = Math.abs(now - Date.parse(iso))
  if (distance > 30 * day) return localTime(iso).slice(0, 10)
  if (distance < minute) return 'just now'
  const text =
    distance < hour
      ? `${Math.floor(distance / minute)} min`
      : distance < 2 * day
        ? `${Math.floor(distance / hour)} h`
        : `${Math.floor(distance / day)} days`
  return Date.parse(iso) > now ? `in ${text}` : `${text} ago`
}

/** `2026-03-01 14:05`, where the person is. */
export function localTime(iso: string): string {
  const time = new Date(iso)
  const two = (value: number) => String(value).padStart(2, '0')
  const date = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`
  return `${date} ${two(time.getHours())}:${two(time.getMinutes())}`
}

export function count(value: number, noun?: string): string {
  const number = value.toLocaleString('en')
  return noun === undefined ? number : `${number} ${noun}${value === 1 ? '' : 's'}`
}

export function workItemText(item: WorkItem): string {
  switch (item.type) {
    case 'feature':
      return safeLine(`feature ${item.featureId}`)
    case 'task':
      return safeLine(`task ${item.taskId} of ${item.featureId}`)
    case 'bead':
      return safeLine(`bead ${item.beadId}`)
    case 'thread':
      return safeLine(`thread ${item.threadId}`)
  }
}

export function statusText(status: ConversationStatus | SessionStatus): string {
  switch (status) {
    case 'active':
      return style.green(status)
    case 'completed':
      return style.cyan(status)
    case 'expired':
    case 'deleted':
      return style.yellow(status)
    case 'archived':
      return style.dim(status)
  }
}

/** Warns that removed content may still be found for a while. */
export function lingering({ lingers }: { lingers?: true }): string[] {
  return lingers
    ? [
        'Another program is reading the store: the write-ahead log may hold the content until it is done and the store closed.',
      ]
    : []
}
