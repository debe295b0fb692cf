/** Where archives are, by what is said of it: a folder, or a bucket. */
import { dirname, join, resolve } from 'node:path'
import type { ArchivePlace } from '../../log/archive-place.ts'

/** Two letters at least: `C:\archives` is a folder. */
const scheme = /^[a-z][a-z\d+.-]+:/i

/** Whether it has a scheme, and so is no path. */
export function isAddress(place: string): boolean {
  return scheme.test(place)
}

/** Why archives cannot go there; undefined when they can, as far as its name tells. */
export function archivesProblem(place: unknown): string | undefined {
  if (typeof place === 'string' && place !== '' && (!isAddress(place) || place.startsWith('s3:'))) return undefined
  const said = typeof place === 'string' ? `"${place}"` : `a ${typeof place}`
  return `${said} is no place for archives. Give a folder (./NAME if it has a colon), or s3://bucket/prefix?endpoint=….`
}

export async function openArchives(place: string): Promise<ArchivePlace> {
  if (place.startsWith('s3:')) return (await import('../../stores/archives/s3.ts')).s3Archives(place)
  return (await import('../../stores/archives/folder.ts')).folderArchives(place)
}

/** Beside the store, where that is a file; else in the project's root. */
export function defaultArchives(store: string, root: () => string): string {
  const path = store.startsWith('sqlite:') ? store.slice('sqlite:'.length) : ''
  return join(path === '' || path === ':memory:' ? join(root(), '.colloquy') : dirname(resolve(path)), 'archives')
}
