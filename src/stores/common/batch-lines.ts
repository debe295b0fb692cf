/** Lines put together into larger pieces: packing or writing each by itself takes a turn of the event loop for each. */
const enough = 64 * 1024

/** Each line with its end. */
export async function* gatheredLines(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let piece = ''
  for await (const line of lines) {
    piece += `${line}\n`
    if (piece.length < enough) continue
    yield piece
    piece = ''
  }
  if (piece !== '') yield piece
}
