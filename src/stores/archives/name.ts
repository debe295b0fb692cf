/** File names of archives: readable as far as possible, and unique. */
import { randomBytes } from 'node:crypto'

export const archiveEnding = '.jsonl.gz'

export function fileNameOf(name: string): string {
  const readable = name.replace(/[^A-Za-z0-9._-]+/g, '_').slice(0, 80)
  // Random, because several processes may purge the same conversation at the same moment.
  return `${readable}-${randomBytes(6).toString('hex')}${archiveEnding}`
}
