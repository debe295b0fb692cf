/**
 * Archive files in an S3-compatible bucket, through the package s3mini, which the user installs.
 *
 * The address is `s3://bucket/prefix?endpoint=https://host&region=…`; the keys come from the environment
 * (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), never from an address that would be stored.
 */
import { Readable } from 'node:stream'
import { ColloquyError, InvalidInput, NotFound, StoreFailed, StoreUnusable } from '../../errors.ts'
import type { ArchivePlace } from '../../log/archive-place.ts'
import { linesOf, packed, unpacked } from './lines.ts'
import { fileNameOf } from './name.ts'

interface Bucket {
  putAnyObject(key: string, data: Buffer, type: string): Promise<{ ok: boolean; status: number }>
  getObjectResponse(key: string): Promise<Response | null>
  deleteObject(key: string): Promise<boolean>
}

const example = 'an S3 address looks like s3://bucket/prefix/?endpoint=https://host&region=eu-1'

export async function s3Archives(address: string): Promise<ArchivePlace> {
  const { bucketName, path, endpoint, region } = partsOf(address)
  // A folder may be given with or without a slash at its end.
  const folder = path === '' || path.endsWith('/') ? path : `${path}/`
  const bucket = await connect({ bucketName, endpoint, region })
  return {
    async write(name, lines) {
      const key = `${folder}${fileNameOf(name)}`
      const data = Buffer.concat(await packed(lines).toArray())
      const answer = await bucket.putAnyObject(key, data, 'application/gzip').catch((error: unknown) => {
        throw new StoreFailed(
          `The archive ${key} could not be uploaded (${messageOf(error)}). Nothing was purged.`,
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

    async remove(address) {
      await bucket.deleteObject(partsOf(address).path)
    },

    async *read(address) {
      const { path: key } = partsOf(address)
      try {
        const answer = await bucket.getObjectResponse(key)
        if (!answer?.body) throw new NotFound('archive', address)
        yield* linesOf(unpacked(Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0])))
      } catch (error) {
        if (error instanceof ColloquyError) throw error
        throw new StoreFailed(
          `The archive ${key} could not be downloaded (${messageOf(error)}). Nothing was restored; check ${endpoint}, the bucket and the keys, then restore it again.`,
          { address },
          { cause: error },
        )
      }
    },
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** @throws {InvalidInput} when it is not an S3 address */
function partsOf(address: string): { bucketName: string; path: string; endpoint: string; region: string } {
  const url = URL.canParse(address) ? new URL(address) : undefined
  const endpoint = url?.searchParams.get('endpoint')
  const path = url && decoded(url.pathname.slice(1))
  if (!url?.hostname || path === undefined || !endpoint) throw new InvalidInput('archives', example)
  return { bucketName: url.hostname, path, endpoint, region: url.searchParams.get('region') ?? 'auto' }
}

function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}

/** The full address of an object: reading it adds no prefix. */
function addressOf(bucketName: string, key: string, endpoint: string, region: string): string {
  return `s3://${bucketName}/${key.split('/').map(encodeURIComponent).join('/')}?${new URLSearchParams({ endpoint, region })}`
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
  try {
    return new client.S3mini({ accessKeyId, secretAccessKey, endpoint, region: at.region }) as unknown as Bucket
  } catch {
    throw new InvalidInput('archives', example)
  }
}
