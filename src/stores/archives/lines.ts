/** Packs the lines of an archive into a gzip stream, and unpacks them. */
import { pipeline, Readable } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'
import { gatheredLines } from '../common/batch-lines.ts'

/** Packs lines. A failure on either side ends the stream with an error. */
export function packed(lines: AsyncIterable<string>): Readable {
  return pipeline(Readable.from(gatheredLines(lines)), createGzip(), ignoreError)
}

/** Unpacks the bytes of a gzip file. When reading stops, the file is closed. */
export function unpacked(bytes: Readable): Readable {
  return pipeline(bytes, createGunzip(), ignoreError)
}

/** Splits at line feeds only: a JSON text may contain U+2028 and similar characters. */
export async function* linesOf(bytes: Readable): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of bytes.setEncoding('utf8') as AsyncIterable<string>) {
    if (!chunk.includes('\n')) {
      // A long line comes in many chunks; each is searched once.
      rest += chunk
      continue
    }
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()!
    yield* lines
  }
  if (rest !== '') yield rest
}

/** Node requires a callback, but the reader of the stream gets the error. */
function ignoreError(): void {}
