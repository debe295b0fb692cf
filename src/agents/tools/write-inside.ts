/** Writes files where the agent may: to the exact path that was checked, never through a link. */
import { constants } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type ToolCall, ToolRefused } from './tool.ts'

/** Returns the normalised path. The agent knows what it wrote, so the file counts as read. */
export async function writeInside(path: string, content: string, { port }: ToolCall): Promise<string> {
  const permission = await port.mayWrite(path)
  if (!permission.may) throw new ToolRefused(`"${path}" was not written: ${permission.reason}.`)
  await mkdir(dirname(permission.absolutePath), { recursive: true })
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants
  // A link created after the check is not followed.
  const file = await open(permission.absolutePath, O_WRONLY | O_CREAT | O_TRUNC | (O_NOFOLLOW ?? 0), 0o666)
  try {
    await file.writeFile(content)
  } finally {
    await file.close()
  }
  await port.recordRead(path)
  return permission.path
}
