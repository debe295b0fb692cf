/** The lines of an archive, on their way into a packed file and out of one. */
import { pipeline, Readable } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'
import { gatheredLines } from '../common/batch-lines.ts'

/** The bytes of a gzip file with these lines. Whatever fails, on either side, ends the stream with it. */
export function packed(lines: AsyncIterable<string>): Readable {
  return pipeline(Readable.from(gatheredLines(lines)), createGzip(), whoReadsIsTold)
}

/** The bytes of a gzip file unpacked. Who stops reading closes the file, too. */
export function unpacked(bytes: Readable): Readable {
  return pipeline(bytes, createGunzip(), whoReadsIsTold)
}

/** Line feeds alone end a line, as where it is written: U+2028 and its like may stand inside a JSON text. */
export async function* linesOf(bytes: Readable): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of bytes.setEncoding('utf8') as AsyncIterable<string>) {
    if (!chunk.includes('\n')) {
      // A long line comes in many pieces: looked through once each, not from its beginning every time.
      rest += chunk
      continue
    }
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()!
    yield* lines
  }
  if (rest !== '') yield rest
}

/** An error comes out where the stream is read; a second place that hears of it is not needed, but Node wants one. */
function whoReadsIsTold(): void {}
