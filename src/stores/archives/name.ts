/** A file name for any conversation: readable where it can be, unique always. */
import { createHash } from 'node:crypto'

export function fileNameOf(name: string): string {
  const readable = name.replace(/[^A-Za-z0-9._-]+/g, '_').slice(0, 80)
  const unique = createHash('sha256').update(name).update(String(Date.now())).digest('hex').slice(0, 12)
  return `${readable}-${unique}.jsonl.gz`
}
