/** CLAUDE.md, AGENTS.md and PROJECT.md of a project's root: what people write down for agents. */
import { open, readdir, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'

export const instructionFileNames = ['CLAUDE.md', 'AGENTS.md', 'PROJECT.md'] as const

export const defaultInstructionFileBytes = 32_000

interface InstructionFile {
  name: string
  text: string
}

/**
 * Those that exist, in a fixed order, each bounded with a marker where it was cut.
 *
 * One file under two names (AGENTS.md is often a link to CLAUDE.md) is given once. A link that leads out of the
 * project is left out: the folder may come from anywhere, and what is read here is sent to a model.
 */
export async function instructionFiles(root: string, limit = defaultInstructionFileBytes): Promise<InstructionFile[]> {
  const [names, home] = await Promise.all([readdir(root), realpath(root)]).catch((): [string[], string] => [[], root])
  const found: InstructionFile[] = []
  const seen = new Set<string>()
  for (const name of instructionFileNames) {
    // Compared with the listing, because a file system may take `claude.md` for `CLAUDE.md`.
    if (!names.includes(name)) continue
    const place = await realpath(join(root, name)).catch(() => undefined)
    if (place === undefined || seen.has(place) || !isInside(place, home)) continue
    seen.add(place)
    const text = await boundedText(place, name, limit)
    if (text) found.push({ name, text })
  }
  return found
}

function isInside(place: string, folder: string): boolean {
  return place.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

/** Reads no more than the limit, however large the file is. */
async function boundedText(place: string, name: string, limit: number): Promise<string | undefined> {
  // Asked before it is opened: opening a named pipe would wait for its writer.
  const isFile = await stat(place).then(
    found => found.isFile(),
    () => false,
  )
  const file = isFile ? await open(place).catch(() => undefined) : undefined
  if (!file) return undefined
  try {
    const { size } = await file.stat()
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(size, limit)), 0)
    // `stream` leaves out a character that the limit cut in two.
    const text = new TextDecoder().decode(buffer.subarray(0, bytesRead), { stream: size > limit }).trim()
    if (size <= limit) return text
    return `${text}\n… [cut: ${bytesRead} of ${size} bytes are shown; read ${name} for the rest]`
  } catch {
    return undefined
  } finally {
    await file.close()
  }
}
