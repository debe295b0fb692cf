/** Lines as a stream of bytes that goes as fast as it is read. */
export function lines(source: AsyncIterable<string>): ReadableStream<Uint8Array> {
  const text = new TextEncoder()
  const iterator = source[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        let piece = ''
        // Many short lines in one piece: a write per line would cost more than reading it.
        while (piece.length < 64 * 1024) {
          const { done, value } = await iterator.next()
          if (done) {
            if (piece !== '') controller.enqueue(text.encode(piece))
            return controller.close()
          }
          piece += value.endsWith('\n') ? value : `${value}\n`
        }
        controller.enqueue(text.encode(piece))
      },
      async cancel() {
        await iterator.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}
