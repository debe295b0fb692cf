/** Free metadata of a conversation, session or message: any JSON object. */
import { z } from 'zod'

export const Metadata = z.record(z.string(), z.unknown())
export type Metadata = z.infer<typeof Metadata>
