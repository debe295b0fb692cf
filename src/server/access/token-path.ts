/** Where the token of a server is kept: beside its store. */
import { dirname, join, resolve } from 'node:path'

export function tokenPlace(store: string, root: string): string {
  const path = store.startsWith('sqlite:') ? store.slice('sqlite:'.length) : ''
  return join(path === '' || path === ':memory:' ? join(root, '.colloquy') : dirname(resolve(path)), 'token')
}
