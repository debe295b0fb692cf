/** Free metadata: any JSON object a caller wants to keep beside a conversation, a session or a message. */
import { z } from 'zod'

export const Metadata = z.record(z.string(), z.unknown())
export type Metadata = z.infer<typeof Metadata>
