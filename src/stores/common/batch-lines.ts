/** Joins lines into larger pieces: compressing or writing each by itself takes a turn of the event loop. */
const pieceCharacters = 64 * 1024

/** Yields whole lines, each with its newline. */
export async function* gatheredLines(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let piece = ''
  for await (const line of lines) {
    piece += `${line}\n`
    if (piece.length < pieceCharacters) continue
    yield piece
    piece = ''
  }
  if (piece !== '') yield piece
}
