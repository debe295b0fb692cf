/** An agent read a file of the project. */
import { z } from 'zod'
import { Id } from './id.ts'

export const FileRead = z.object({
  type: z.literal('file.read'),
  agent: Id,
  /** Relative to the project's root, links resolved, names separated by `/`. */
  path: z.string().min(1).max(4096),
})
export type FileRead = z.infer<typeof FileRead>
