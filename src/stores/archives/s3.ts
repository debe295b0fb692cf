/**
 * Archive files in an S3-compatible bucket, through s3mini, which whoever uses this installs.
 *
 * The address is `s3://bucket/prefix?endpoint=https://host&region=…`; the keys come from the environment
 * (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), never from an address that would be stored.
 */
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'
import { InvalidInput, NotFound, StoreFailed, StoreUnusable } from '../../errors.ts'
import type { ArchivePlace } from '../../log/archive-place.ts'
import { fileNameOf } from './name.ts'

interface Bucket {
  putAnyObject(key: string, data: Buffer, type: string): Promise<{ ok: boolean; status: number }>
  getObjectResponse(key: string): Promise<Response | null>
}

export async function s3Archives(address: string): Promise<ArchivePlace> {
  const { bucketName, prefix, endpoint, region } = partsOf(address)
  const bucket = await connect({ bucketName, endpoint, region })
  return {
    async write(name, lines) {
      const key = `${prefix}${fileNameOf(name)}`
      const data = await gzipped(lines)
      const answer = await bucket.putAnyObject(key, data, 'application/gzip').catch((error: unknown) => {
        const message = error instanceof Error ? error.message : String(error)
        throw new StoreFailed(
          `The archive ${key} could not be uploaded (${message}). Nothing was purged.`,
          { key },
          { cause: error },
        )
      })
      if (!answer.ok)
        throw new StoreFailed(`The archive ${key} could not be uploaded (${answer.status}). Nothing was purged.`, {
          key,
        })
      return addressOf(bucketName, key, endpoint, region)
    },

    async *read(address) {
      const { prefix: key } = partsOf(address)
      const answer = await bucket.getObjectResponse(key)
      if (!answer?.body) throw new NotFound('archive', address)
      const text = Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0]).pipe(createGunzip())
      for await (const line of createInterface({ input: text, crlfDelay: Number.POSITIVE_INFINITY })) yield line
    },
  }
}

function partsOf(address: string): { bucketName: string; prefix: string; endpoint: string; region: string } {
  const url = new URL(address)
  const endpoint = url.searchParams.get('endpoint')
  if (!url.hostname || !endpoint) {
    throw new InvalidInput('archives', 'an S3 address looks like s3://bucket/prefix/?endpoint=https://host&region=eu-1')
  }
  const prefix = decodeURIComponent(url.pathname.slice(1))
  return { bucketName: url.hostname, prefix, endpoint, region: url.searchParams.get('region') ?? 'auto' }
}

function addressOf(bucketName: string, key: string, endpoint: string, region: string): string {
  return `s3://${bucketName}/${encodeURI(key)}?${new URLSearchParams({ endpoint, region })}`
}

async function connect(at: { bucketName: string; endpoint: string; region: string }): Promise<Bucket> {
  const { AWS_ACCESS_KEY_ID: accessKeyId = '', AWS_SECRET_ACCESS_KEY: secretAccessKey = '' } = process.env
  if (!accessKeyId || !secretAccessKey) {
    throw new StoreUnusable('Archives in S3 need AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment.')
  }
  let client: typeof import('s3mini')
  try {
    client = await import('s3mini')
  } catch (error) {
    throw new StoreUnusable(`Archives in S3 need the package s3mini: npm install s3mini.`, {}, { cause: error })
  }
  const endpoint = `${at.endpoint.replace(/\/$/, '')}/${at.bucketName}`
  return new client.S3mini({ accessKeyId, secretAccessKey, endpoint, region: at.region }) as unknown as Bucket
}

async function gzipped(lines: AsyncIterable<string>): Promise<Buffer> {
  async function* ended() {
    for await (const line of lines) yield `${line}\n`
  }
  return Buffer.concat(await Readable.from(ended()).pipe(createGzip()).toArray())
}
