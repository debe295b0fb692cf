/** Checks paths of tool calls: they must be inside the work tree after links and `..` are resolved. */
import { realpath } from 'node:fs/promises'
import { type ProjectPath, projectPath } from '../../request/context/project-path.ts'
import { ToolRefused } from './tool.ts'

type Inside = Extract<ProjectPath, { inside: true }>

export async function insidePath(root: string, path: string): Promise<Inside> {
  const resolved = await projectPath(root, path)
  if (!resolved.inside) throw new ToolRefused(`"${path}" ${resolved.reason}.`)
  return resolved
}

/** Resolves a folder of the work tree; `.` is its root. Returns the relative path, `''` for the root. */
export async function insideFolder(root: string, path: string): Promise<{ path: string; absolute: string }> {
  if (path === '' || path === '.' || path === './') return { path: '', absolute: await realpath(root) }
  const folder = await insidePath(root, path)
  if (folder.kind !== 'folder') throw new ToolRefused(`"${path}" is not a folder.`)
  return folder
}
