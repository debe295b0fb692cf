/** Short texts put together: what is packed or written piece by piece costs a turn of the event loop for each piece. */
const enough = 64 * 1024

export async function* gathered(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let piece = ''
  for await (const text of texts) {
    piece += text
    if (piece.length < enough) continue
    yield piece
    piece = ''
  }
  if (piece !== '') yield piece
}
