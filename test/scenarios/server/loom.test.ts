/** Loom's endpoints, with its paths and field names. */
import { expect, it } from 'vitest'
import { freshServer } from '../../support/server.ts'

const json = { 'content-type': 'application/json' }

async function beadSession() {
  const server = await freshServer()
  const { sessions } = server.colloquy
  const { id } = await sessions.getOrCreateSession({
    type: 'bead',
    agentType: 'worker',
    beadId: 'loom-1',
    metadata: { provider_id: 'p-1' },
  })
  await sessions.addMessage(id, { role: 'system', content: 'You are a worker.' })
  await sessions.addMessage(id, { role: 'user', content: 'Investigate the memory leak' })
  return Object.assign(server, { id })
}

it('a Loom conversation is found by its session and by its bead', async () => {
  const { send, id } = await beadSession()
  const answer = await send(`/api/v1/conversations/${id}`)
  expect(answer.status).toBe(200)
  expect(answer.json()).toEqual({
    session_id: id,
    bead_id: 'loom-1',
    project_id: 'shop',
    messages: [
      { role: 'system', content: 'You are a worker.', timestamp: expect.any(String), token_count: expect.any(Number) },
      {
        role: 'user',
        content: 'Investigate the memory leak',
        timestamp: expect.any(String),
        token_count: expect.any(Number),
      },
    ],
    created_at: expect.any(String),
    updated_at: expect.any(String),
    expires_at: expect.any(String),
    token_count: expect.any(Number),
    metadata: { agent_name: 'worker', agent_type: 'worker', provider_id: 'p-1' },
    entity_metadata: {},
  })
  expect((await send('/api/v1/beads/loom-1/conversation')).json()).toEqual(answer.json())
})

it('Loom conversations are listed by project, which is required', async () => {
  const { send, id } = await beadSession()
  const listed = await send('/api/v1/conversations?project_id=shop&limit=10')
  expect(listed.json()).toMatchObject({ project_id: 'shop', limit: 10, conversations: [{ session_id: id }] })
  const refused = await send('/api/v1/conversations')
  expect(refused.status).toBe(400)
  expect(refused.json()).toMatchObject({ error: expect.stringContaining('project_id') })
})

it('a Loom conversation is reset, keeping the first system message unless told otherwise, and the log keeps all', async () => {
  const { send, id, colloquy } = await beadSession()
  const path = `/api/v1/conversations/${id}/reset`
  const kept = await send(path, { method: 'POST' })
  expect(kept.json()).toMatchObject({ session_id: id, keep_system_message: true, message: expect.any(String) })
  expect((await send(`/api/v1/conversations/${id}`)).json()).toMatchObject({ messages: [{ role: 'system' }] })
  await send(path, { method: 'POST', headers: json, body: '{"keep_system_message":false}' })
  expect((await send(`/api/v1/conversations/${id}`)).json()).toMatchObject({ messages: [] })
  const { conversationId } = await colloquy.sessions.getSession(id)
  expect(await colloquy.conversations.getMessages(conversationId)).toHaveLength(2)
})

it('[P4] a deleted Loom conversation is hidden, and the log keeps it', async () => {
  const { send, id, colloquy } = await beadSession()
  const { conversationId } = await colloquy.sessions.getSession(id)
  const deleted = await send(`/api/v1/conversations/${id}`, { method: 'DELETE' })
  expect(deleted.json()).toMatchObject({ success: true, session_id: id, message: expect.any(String) })
  const gone = await send(`/api/v1/conversations/${id}`)
  expect(gone).toMatchObject({ status: 404 })
  expect(gone.json()).toMatchObject({ error: expect.any(String), code: 'not-found' })
  expect(await colloquy.conversations.getMessages(conversationId)).toHaveLength(2)
})
