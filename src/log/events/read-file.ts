/** The fact that an agent read a file of the project. */
import { z } from 'zod'
import { Id } from './id.ts'

export const FileRead = z.object({
  type: z.literal('file.read'),
  agent: Id,
  /** From the project's root, links resolved, with `/` between names. */
  path: z.string().min(1).max(4096),
})
export type FileRead = z.infer<typeof FileRead>
