/** A file that is there whole or not at all, and never in place of another by accident. */
import { createWriteStream, existsSync } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { InvalidInput } from '../errors.ts'

/**
 * Writes `chunks` to `path`, packed when its name ends in .gz, under another name until it is whole.
 *
 * @throws {InvalidInput} when there is no such folder, or the file exists and `force` does not say to replace it
 */
export async function writeFile(
  path: string,
  chunks: AsyncIterable<string>,
  { force }: { force: boolean },
): Promise<{ path: string; bytes: number }> {
  const target = resolve(path)
  if (!existsSync(dirname(target))) throw new InvalidInput('--output', `there is no folder ${dirname(target)}`)
  refuseExisting(target, force)
  const draft = `${target}.${process.pid}.part`
  try {
    const source = Readable.from(chunks, { objectMode: true })
    const sink = createWriteStream(draft, { flags: 'wx' })
    await (target.endsWith('.gz') ? pipeline(source, createGzip(), sink) : pipeline(source, sink))
    const file = await open(draft, 'r+')
    await file.sync()
    await file.close()
    // Once more: somebody may have made it while we wrote.
    refuseExisting(target, force)
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
  return { path: target, bytes: (await stat(target)).size }
}

function refuseExisting(path: string, force: boolean): void {
  if (!force && existsSync(path)) throw new InvalidInput('--output', `${path} exists already; --force replaces it`)
}
