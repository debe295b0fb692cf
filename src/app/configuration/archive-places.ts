/** Places of archives by their address: a folder, or a bucket. */
import { dirname, join, resolve } from 'node:path'
import type { ArchivePlace } from '../../log/archive-place.ts'

/** Has two letters at least, because `C:\archives` is a folder. */
const scheme = /^[a-z][a-z\d+.-]+:/i

/** Returns true for an address with a scheme, which is no path. */
export function isAddress(place: string): boolean {
  return scheme.test(place)
}

/** Returns the reason why archives cannot go there, as far as the name shows. */
export function archivesProblem(place: unknown): string | undefined {
  if (typeof place === 'string' && place !== '' && (!isAddress(place) || place.startsWith('s3:'))) return undefined
  const shown = typeof place === 'string' ? `"${place}"` : `a ${typeof place}`
  return `${shown} is not a place for archives. Name a folder (./NAME if it has a colon), or s3://bucket/prefix?endpoint=….`
}

export async function openArchives(place: string): Promise<ArchivePlace> {
  if (place.startsWith('s3:')) return (await import('../../stores/archives/s3.ts')).s3Archives(place)
  return (await import('../../stores/archives/folder.ts')).folderArchives(place)
}

/** Returns the folder next to the store, if that is a file; else one in the project's root. */
export function defaultArchives(store: string, root: () => string): string {
  const path = store.startsWith('sqlite:') ? store.slice('sqlite:'.length) : ''
  return join(path === '' || path === ':memory:' ? join(root(), '.colloquy') : dirname(resolve(path)), 'archives')
}
