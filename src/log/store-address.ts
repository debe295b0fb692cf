/** The address of a store as people may see it, in errors and on screens: a password in it is not shown. */
export function withoutPassword(url: string): string {
  if (url.startsWith('sqlite:')) return url
  const [address = '', ...query] = url.split('?')
  return [
    // Greedy on purpose: a password may have @ and / in it that are not encoded.
    address.replace(/^([^/]*\/\/[^:@/]*):.*@/, '$1:***@'),
    ...query.map(text => text.replace(/(^|&)((?:ssl)?password=)[^&]*/gi, '$1$2***')),
  ].join('?')
}
