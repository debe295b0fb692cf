/** Validates link targets from messages: web pages and mail addresses, never code. */

interface Target {
  href: string
  /** Shown next to the link text, so that the destination is visible. */
  place: string
}

export function safeTarget(text: string): Target | undefined {
  let url: URL
  try {
    // Control characters inside an address are dropped by browsers: `java\nscript:` must not pass.
    if (/[\u0000-\u0020\u007f]/.test(text.trim())) return undefined
    url = new URL(text.trim())
  } catch {
    return undefined
  }
  if (url.protocol === 'mailto:') return { href: url.href, place: url.pathname }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined
  // A user name before an @ can pass for the host.
  if (url.username !== '' || url.password !== '') return undefined
  return { href: url.href, place: url.host }
}
