/** Where a link from a message may lead: to a page or a mail, never to code. */

interface Target {
  href: string
  /** What is shown beside the link's words, so that nobody is led elsewhere than they think. */
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
  // Names before an @ look like the host and are not.
  if (url.username !== '' || url.password !== '') return undefined
  return { href: url.href, place: url.host }
}
