/**
 * The directory tree as indented text: folders first, then files, each sorted, bounded.
 *
 * The bound is spent level by level and not folder by folder, so a reader sees the whole of the top before any
 * folder's depths; what is left out is counted where it was left out.
 */
import { type FolderEntry, foldersFromDisk, foldersFromGit, type ListFolder } from './folders.ts'

export interface StructureLimits {
  /** Files and folders shown altogether. */
  readonly entries: number
  /** Levels shown: 1 is the root's own entries. */
  readonly depth: number
  /** Entries shown of one folder, so that one with a thousand files does not use up the rest. */
  readonly perFolder: number
}

const defaultStructureLimits: StructureLimits = { entries: 300, depth: 5, perFolder: 50 }

/** Undefined when the folder is missing or cannot be read. */
export async function directoryStructure(
  root: string,
  limits: Partial<StructureLimits> = {},
): Promise<string | undefined> {
  const list = (await foldersFromGit(root)) ?? (await foldersFromDisk(root))
  if (!list) return undefined
  return render(await grow(list, { ...defaultStructureLimits, ...limits }))
}

interface Folder {
  readonly path: string
  readonly shown: { readonly entry: FolderEntry; readonly folder?: Folder }[]
  left: number
}

async function grow(list: ListFolder, limits: StructureLimits): Promise<Folder> {
  const top: Folder = { path: '', shown: [], left: 0 }
  let remaining = limits.entries
  let level: Folder[] = [top]
  for (let depth = 1; level.length > 0; depth++) {
    const next: Folder[] = []
    for (const folder of level) {
      const entries = [...(await list(folder.path))].sort(foldersFirst)
      const fits = depth > limits.depth ? 0 : Math.min(entries.length, limits.perFolder, remaining)
      for (const entry of entries.slice(0, fits)) {
        if (!entry.isFolder) {
          folder.shown.push({ entry })
          continue
        }
        const path = folder.path === '' ? entry.name : `${folder.path}/${entry.name}`
        const inside: Folder = { path, shown: [], left: 0 }
        folder.shown.push({ entry, folder: inside })
        next.push(inside)
      }
      folder.left = entries.length - fits
      remaining -= fits
    }
    level = next
  }
  return top
}

/** By code units and not by locale: the same tree must be the same text on every machine. */
function foldersFirst(a: FolderEntry, b: FolderEntry): number {
  if (a.isFolder !== b.isFolder) return a.isFolder ? -1 : 1
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0
}

function render(top: Folder): string {
  const lines: string[] = []
  const write = (folder: Folder, indent: string): void => {
    for (const { entry, folder: inside } of folder.shown) {
      lines.push(`${indent}${printable(entry.name)}${entry.isFolder ? '/' : ''}`)
      if (inside) write(inside, `${indent}  `)
    }
    if (folder.left > 0) lines.push(`${indent}… ${folder.left} more`)
  }
  write(top, '')
  return lines.join('\n')
}

/** A file's name may hold line breaks; in this text a line is an entry. */
function printable(name: string): string {
  return name.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '\ufffd')
}
