/** A file name for any conversation: readable where it can be, unique always. */
import { randomBytes } from 'node:crypto'

export const archiveEnding = '.jsonl.gz'

export function fileNameOf(name: string): string {
  const readable = name.replace(/[^A-Za-z0-9._-]+/g, '_').slice(0, 80)
  // By chance, and not by the time: several may purge the same conversation at the same moment.
  return `${readable}-${randomBytes(6).toString('hex')}${archiveEnding}`
}
