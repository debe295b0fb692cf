/** Archives in an S3-compatible bucket: a real server of the protocol on loopback. */

import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StoreUnusable } from 'colloquy'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { opened } from '../support/colloquy.ts'

interface S3Server {
  run(): Promise<{ address: string; port: number }>
  close(): Promise<void>
}
const S3rver = createRequire(import.meta.url)('s3rver') as new (options: object) => S3Server

const directory = mkdtempSync(join(tmpdir(), 'colloquy-s3-'))
let server: S3Server
let archives: string

beforeAll(async () => {
  server = new S3rver({ port: 0, address: '127.0.0.1', silent: true, directory, configureBuckets: [{ name: 'cold' }] })
  const { port } = await server.run()
  archives = `s3://cold/colloquy/?endpoint=http://127.0.0.1:${port}&region=us-east-1`
})

afterAll(async () => {
  await server.close()
  rmSync(directory, { recursive: true, force: true })
})

it('purges into a bucket and restores from it', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'S3RVER')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'S3RVER')
  const { colloquy } = await opened({ archives })
  const { id } = await colloquy.conversations.createConversation({
    title: 'to the bucket',
    initial: { role: 'user', content: 'keep this cold' },
  })
  const before = await colloquy.conversations.getEvents(id)
  const { archive } = await colloquy.conversations.purge(id)
  expect(archive).toMatch(/^s3:\/\/cold\/colloquy\//)
  await colloquy.conversations.restore(id)
  const after = await colloquy.conversations.getEvents(id)
  expect(after.map(event => event.hash)).toEqual(before.map(event => event.hash))
})

it('purges nothing when the bucket does not take it', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'S3RVER')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'S3RVER')
  const { colloquy } = await opened({ archives: archives.replace('cold', 'nowhere') })
  const { id } = await colloquy.conversations.createConversation({ title: 'stays' })
  await expect(colloquy.conversations.purge(id)).rejects.toMatchObject({ code: 'store/failed' })
  expect((await colloquy.conversations.getConversation(id)).title).toBe('stays')
})

it('asks for keys when there are none', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', '')
  const { colloquy } = await opened({ archives })
  const { id } = await colloquy.conversations.createConversation({ title: 'stays' })
  await expect(colloquy.conversations.purge(id)).rejects.toThrow(StoreUnusable)
})
