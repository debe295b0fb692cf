/** Archives in an S3-compatible bucket: a real server of the protocol on loopback. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StoreUnusable } from 'colloquy/errors'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'

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

it('a purge writes into a bucket, and a restore reads from it', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'S3RVER')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'S3RVER')
  const { colloquy } = await freshColloquy({ archives })
  const { id } = await colloquy.conversations.createConversation({
    title: 'to the bucket',
    initial: { role: 'user', content: 'keep this cold' },
  })
  const before = await colloquy.conversations.getEvents(id)
  const { archive } = await colloquy.conversations.purge(id)
  expect(archive).toMatch(/^s3:\/\/cold\/colloquy\//)
  await colloquy.conversations.restore(id)
  const after = await colloquy.conversations.getEvents(id, { to: before.at(-1)!.version })
  expect(after.map(event => event.hash)).toEqual(before.map(event => event.hash))
})

it('archives go into the folder that the address names, with or without a slash at its end', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'S3RVER')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'S3RVER')
  for (const [place, start] of [
    ['shop', 'shop/shop-'],
    ['shop/', 'shop/shop-'],
    ['a%20b/100%25%3F', 'a%20b/100%25%3F/shop-'],
    ['', 'shop-'],
  ] as const) {
    const { colloquy } = await freshColloquy({ archives: archives.replace('colloquy/', place) })
    const { id } = await colloquy.conversations.createConversation({ title: 'in its folder' })
    const { archive } = await colloquy.conversations.purge(id)
    expect(archive.startsWith(`s3://cold/${start}${id}`)).toBe(true)
    expect((await colloquy.conversations.restore(id)).title).toBe('in its folder')
  }
})

it('a restore reads an archive under any name in the bucket', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'S3RVER')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'S3RVER')
  const { colloquy } = await freshColloquy({ archives })
  const { id } = await colloquy.conversations.createConversation({ title: 'without a slash' })
  const { archive } = await colloquy.conversations.purge(id)
  const packed = readFileSync(join(directory, 'cold', `${new URL(archive).pathname}._S3rver_object`))
  const address = archive.replace('colloquy/shop', 'colloquyshop')
  const { S3mini } = await import('s3mini')
  const endpoint = `${new URL(archive).searchParams.get('endpoint')}/cold`
  const bucket = new S3mini({ accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER', endpoint, region: 'us-east-1' })
  await bucket.putObject(new URL(address).pathname.slice(1), packed)
  expect((await colloquy.conversations.restoreFrom(address)).title).toBe('without a slash')
})

it('a purge removes nothing when the bucket refuses the archive', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'S3RVER')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'S3RVER')
  const { colloquy } = await freshColloquy({ archives: archives.replace('cold', 'nowhere') })
  const { id } = await colloquy.conversations.createConversation({ title: 'stays' })
  await expect(colloquy.conversations.purge(id)).rejects.toMatchObject({ code: 'store/failed' })
  expect((await colloquy.conversations.getConversation(id)).title).toBe('stays')
})

it('a restore brings nothing back and says so when the bucket cannot be reached, refuses, or has something else', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'S3RVER')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'S3RVER')
  const { colloquy } = await freshColloquy({ archives })
  const { conversations } = colloquy
  const { id } = await conversations.createConversation({ title: 'cold' })
  const { archive } = await conversations.purge(id)
  const failed = { code: 'store/failed', message: expect.stringMatching(/Nothing was restored; check http.* again/) }
  const nobody = archive.replace(/endpoint=[^&]*/, 'endpoint=http%3A%2F%2F127.0.0.1%3A1')
  await expect(conversations.restoreFrom(nobody)).rejects.toMatchObject(failed)
  await expect(conversations.restoreFrom(archive.replace('.gz', '.none'))).rejects.toMatchObject({ code: 'not-found' })
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'somebody else')
  await expect(conversations.restore(id)).rejects.toMatchObject(failed)
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'S3RVER')
  writeFileSync(join(directory, 'cold', `${new URL(archive).pathname}._S3rver_object`), 'something else')
  await expect(conversations.restore(id)).rejects.toMatchObject(failed)
})

it.each([
  's3://',
  's3:cold',
  's3://cold/shop',
  's3://cold/%E0%A4?endpoint=http://127.0.0.1',
  's3://cold?endpoint=http://[',
])('%s is refused as an address, with a valid example', async address => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'S3RVER')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'S3RVER')
  const { colloquy } = await freshColloquy()
  await expect(colloquy.conversations.restoreFrom(address)).rejects.toMatchObject({
    code: 'input/invalid',
    message: expect.stringContaining('s3://bucket/prefix/?endpoint='),
  })
})

it('an archive in a bucket needs keys, and the error names them', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', '')
  const { colloquy } = await freshColloquy({ archives })
  const { id } = await colloquy.conversations.createConversation({ title: 'stays' })
  await expect(colloquy.conversations.purge(id)).rejects.toThrow(StoreUnusable)
})
