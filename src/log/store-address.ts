/** The address of a store as people may see it, in errors and on screens: a password in it is not shown. */
export function withoutPassword(url: string): string {
  if (url.startsWith('sqlite:')) return url
  const [address = '', ...query] = url.split('?')
  return [
    // Greedy on purpose: whoever does not write @ and / as they are written in a URL has them in the password.
    address.replace(/^([^/]*\/\/[^:@/]*):.*@/, '$1:***@'),
    ...query.map(text => text.replace(/(^|&)((?:ssl)?password=)[^&]*/gi, '$1$2***')),
  ].join('?')
}
