/**
 * The place of a reference's content among messages: right behind the message that refers to it, although it was
 * recorded later. Without that message it stays where it was recorded.
 */
import type { Message } from '../../log/views/message.ts'

/** `messages` in the order of their versions; given back with each content behind its message. */
export function inPlace(messages: readonly Message[]): Message[] {
  if (!messages.some(message => message.resolves)) return [...messages]
  const versions = new Set(messages.map(({ version }) => version))
  const contents = new Map<number, Message[]>()
  const others: Message[] = []
  for (const message of messages) {
    const of = message.resolves?.of
    if (of === undefined || !versions.has(of)) others.push(message)
    else contents.set(of, [...(contents.get(of) ?? []), message])
  }
  return others.flatMap(message => [message, ...(contents.get(message.version) ?? [])])
}

/** Returns the number of messages to drop, at least `count`, so that no content stays without its message. */
export function cutBehindContents(messages: readonly Message[], count: number): number {
  const owner = messages[count - 1]
  const of = owner?.resolves?.of ?? owner?.version
  let cut = count
  while (cut < messages.length && messages[cut]!.resolves !== undefined && messages[cut]!.resolves?.of === of) cut++
  return cut
}

/** The oldest version among messages: a content may come first and be newer than what follows. */
export function oldestVersion(messages: readonly Message[]): number | undefined {
  let oldest: number | undefined
  for (const { version } of messages) if (oldest === undefined || version < oldest) oldest = version
  return oldest
}
