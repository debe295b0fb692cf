/** Endpoints with the paths and field names of Loom. Ids are those of sessions; deleting hides a session, the log keeps it. */
import { z } from 'zod'
import { Id } from '../../log/events/id.ts'
import { api, Limit, named } from './common.ts'
import { endpoint } from './endpoint.ts'

const LoomMessage = z.object({
  role: z.enum(['system', 'user', 'assistant']),
  content: z.string(),
  timestamp: z.string(),
  token_count: z.int().optional(),
})

export const LoomConversation = named(
  'LoomConversation',
  z.object({
    session_id: z.string(),
    bead_id: z.string(),
    project_id: z.string(),
    messages: z.array(LoomMessage),
    created_at: z.string(),
    updated_at: z.string(),
    expires_at: z.string().nullable(),
    token_count: z.int(),
    metadata: z.record(z.string(), z.string()),
    entity_metadata: z.record(z.string(), z.unknown()),
  }),
)

const ById = z.object({ id: Id })
/** Default: the token's project, or the server's. */
const OfProject = z.object({ project_id: Id.optional() })

export const loom = {
  list: endpoint({
    method: 'get',
    path: `${api}/conversations`,
    scope: 'read',
    summary: 'Sessions of a project, newest first (Loom)',
    query: z.object({ project_id: Id, limit: Limit.optional() }),
    answer: z.object({ project_id: z.string(), limit: z.int(), conversations: z.array(LoomConversation) }),
    loomErrors: true,
  }),
  get: endpoint({
    method: 'get',
    path: `${api}/conversations/{id}`,
    scope: 'read',
    summary: 'A session with its messages (Loom)',
    params: ById,
    query: OfProject,
    answer: LoomConversation,
    loomErrors: true,
  }),
  ofBead: endpoint({
    method: 'get',
    path: `${api}/beads/{id}/conversation`,
    scope: 'read',
    summary: "A bead's newest session with its messages (Loom)",
    params: ById,
    query: OfProject,
    answer: LoomConversation,
    loomErrors: true,
  }),
  delete: endpoint({
    method: 'delete',
    path: `${api}/conversations/{id}`,
    scope: 'write',
    summary: 'Hides a session (Loom)',
    params: ById,
    query: OfProject,
    answer: z.object({ success: z.literal(true), message: z.string(), session_id: z.string() }),
    loomErrors: true,
    keyed: true,
  }),
  reset: endpoint({
    method: 'post',
    path: `${api}/conversations/{id}/reset`,
    scope: 'write',
    summary: 'Resets a session; its first system message stays unless the body says otherwise (Loom)',
    params: ById,
    query: OfProject,
    body: z.object({ keep_system_message: z.boolean().optional() }).optional(),
    answer: z.object({
      success: z.literal(true),
      message: z.string(),
      session_id: z.string(),
      keep_system_message: z.boolean(),
    }),
    loomErrors: true,
    keyed: true,
  }),
}
