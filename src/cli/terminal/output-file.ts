/** A file that is there whole or not at all, and never in place of another by accident. */
import { randomBytes } from 'node:crypto'
import { createWriteStream, existsSync, lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { InvalidInput, StoreFailed, StoreFull } from '../../errors.ts'
import { isDiskFull } from '../../stores/common/disk-full.ts'

/**
 * Writes `chunks` to `path`, packed when its name ends in .gz, under another name until it is whole. A link is followed.
 * `keep` is the file of a store, which nothing replaces.
 *
 * @throws {InvalidInput} when there is no such folder, the file exists and `force` does not say to replace it, or what is
 * there is no regular file
 * @throws {StoreFull} when there is no room for it
 * @throws {StoreFailed} when the system refuses otherwise
 */
export async function writeFile(
  path: string,
  chunks: AsyncIterable<string>,
  { force, keep }: { force: boolean; keep: string | undefined },
): Promise<{ path: string; bytes: number }> {
  const named = resolve(path)
  const target = followed(named)
  if (keep !== undefined) refuseStore(target, keep)
  refuseExisting(named, force)
  // By chance: in containers one process has the number of the other before it.
  const draft = `${target}.${randomBytes(6).toString('hex')}.part`
  try {
    await removeLeftDrafts(target)
    const source = Readable.from(chunks, { objectMode: true })
    // The new file is as private as the one it replaces.
    const replaced = statSync(target, { throwIfNoEntry: false })
    const mode = replaced && (replaced.mode & 0o777) | 0o600
    const sink = createWriteStream(draft, { flags: 'wx', flush: true, ...(mode !== undefined && { mode }) })
    await (named.endsWith('.gz') ? pipeline(source, createGzip(), sink) : pipeline(source, sink))
    // Checked again: another process may have created it meanwhile.
    refuseExisting(named, force)
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { force: true })
    throw naming(error, named)
  }
  return { path: named, bytes: (await stat(target)).size }
}

/** A draft of this age was left by an export that was killed. */
const draftIsLeftAfterMs = 60 * 60_000

/** Removes drafts of killed exports to the same file: erased content would stay in them. */
async function removeLeftDrafts(target: string): Promise<void> {
  const [folder, prefix] = [dirname(target), `${basename(target)}.`]
  // A folder may be for writing only.
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(prefix) || !/^[0-9a-f]+\.part$/.test(name.slice(prefix.length))) continue
    const path = join(folder, name)
    const written = await stat(path).catch(() => undefined)
    if (written && Date.now() - written.mtimeMs > draftIsLeftAfterMs)
      await rm(path, { force: true }).catch(() => undefined)
  }
}

const beside = ['', '-search'].flatMap(name => ['', '-wal', '-shm', '-journal'].map(part => name + part))

/** Refuses the file of the store and the files of SQLite with its name, also through links. */
function refuseStore(target: string, store: string): void {
  const there = statSync(target, { throwIfNoEntry: false })
  const file = realpathSync(store)
  const isOfStore = beside.some(part => {
    const found = statSync(file + part, { throwIfNoEntry: false })
    const isSame = there !== undefined && found?.dev === there.dev && found.ino === there.ino
    return isSame || target === file + part
  })
  if (isOfStore) throw new InvalidInput('--output', `${target} belongs to the store itself; name another file`)
}

/** The system says what went wrong with a write, but not of which file. */
function naming(error: unknown, path: string): unknown {
  if (!(error instanceof Error && 'syscall' in error && 'code' in error)) return error
  const facts = { path, code: error.code }
  if (isDiskFull(error))
    return new StoreFull(`${path} was not written: the disk is full. Free some room, or name another place.`, facts)
  return new StoreFailed(`${path} was not written: ${error.message}.`, facts)
}

/** As many links as Linux follows. */
const linksFollowed = 40

/** Resolves links, also of a file that does not exist yet: a rename onto a link would replace the link. */
function followed(path: string, links = 0): string {
  const folder = dirname(path)
  if (!existsSync(folder)) throw new InvalidInput('--output', `there is no folder ${folder}`)
  const place = join(realpathSync(folder), basename(path))
  if (!lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink()) return place
  if (links === linksFollowed) throw new InvalidInput('--output', `${path} is a link that leads nowhere`)
  return followed(resolve(dirname(place), readlinkSync(place)), links + 1)
}

function refuseExisting(path: string, force: boolean): void {
  const there = statSync(path, { throwIfNoEntry: false })
  if (!there) return
  if (!there.isFile()) {
    const hint = there.isDirectory() ? 'name a file in it' : 'leave --output out to write to stdout'
    throw new InvalidInput('--output', `${path} is no regular file, and nothing is put in its place; ${hint}`)
  }
  if (!force) throw new InvalidInput('--output', `${path} exists already; --force replaces it`)
}
