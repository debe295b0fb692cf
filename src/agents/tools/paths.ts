/** Checks paths that tools receive: inside the work tree after resolving links and `..`, or refused. */
import { realpath } from 'node:fs/promises'
import { type ProjectPath, projectPath } from '../../request/context/project-path.ts'
import { ToolRefused } from './tool.ts'

type Inside = Extract<ProjectPath, { inside: true }>

export async function insidePath(root: string, path: string): Promise<Inside> {
  const found = await projectPath(root, path)
  if (!found.inside) throw new ToolRefused(`"${path}" ${found.reason}.`)
  return found
}

/** Resolves a folder of the work tree; `.` is its root. Returns the relative path, `''` for the root. */
export async function insideFolder(root: string, path: string): Promise<{ path: string; absolute: string }> {
  if (path === '' || path === '.' || path === './') return { path: '', absolute: await realpath(root) }
  const found = await insidePath(root, path)
  if (found.kind !== 'folder') throw new ToolRefused(`"${path}" is not a folder.`)
  return found
}
