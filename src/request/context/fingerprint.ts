/**
 * A digest of what a context is gathered from, much cheaper than gathering it: equal inputs, equal digest.
 *
 * Looked at: the instruction files, the ignore files, the commit that is checked out, git's index, the root folder
 * and the folders in it, and the feature and task as given. A file that appears further down, untracked, shows in the
 * structure with the next change of any of these.
 */
import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { neverListed } from './folders.ts'
import type { ContextInputs } from './gather.ts'
import { instructionFileNames } from './instruction-files.ts'
import { repositoryTrace, traceOf } from './repository.ts'

/** More folders than this in the root are not looked at one by one. */
const mostFolders = 200

export async function contextFingerprint(inputs: ContextInputs): Promise<string> {
  const { root, ...given } = inputs
  const [files, folders, repository] =
    root === undefined
      ? []
      : await Promise.all([
          Promise.all([...instructionFileNames, '.gitignore'].map(name => traceOf(join(root, name)))),
          folderTraces(root),
          repositoryTrace(root),
        ])
  const seen = canonical({ root, given, files, folders, repository })
  return createHash('sha256').update(JSON.stringify(seen)).digest('hex').slice(0, 32)
}

async function folderTraces(root: string) {
  const entries = await readdir(root, { withFileTypes: true }).catch(() => [])
  const names = entries.filter(entry => entry.isDirectory() && !neverListed.has(entry.name)).map(entry => entry.name)
  const looked = names.sort().slice(0, mostFolders)
  const traces = looked.map(async name => {
    const [folder, ignoreFile] = await Promise.all([traceOf(join(root, name)), traceOf(join(root, name, '.gitignore'))])
    return [name, folder, ignoreFile]
  })
  return [entries.map(entry => entry.name).sort(), await Promise.all(traces)]
}

/** The same facts in the same order, however the caller wrote them down. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, inside]) => inside !== undefined)
  return entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, inside]) => [name, canonical(inside)])
}
