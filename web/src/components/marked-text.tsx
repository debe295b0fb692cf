/** A text with its search matches highlighted. */
import { Fragment } from 'react'

export function MarkedText({ text, ranges }: { text: string; ranges: readonly (readonly [number, number])[] }) {
  const pieces: { text: string; isHit: boolean }[] = []
  let last = 0
  for (const [from, to] of ranges) {
    if (from < last || to > text.length) continue
    pieces.push({ text: text.slice(last, from), isHit: false }, { text: text.slice(from, to), isHit: true })
    last = to
  }
  pieces.push({ text: text.slice(last), isHit: false })
  return pieces.map(({ text, isHit }, index) => {
    // biome-ignore lint/suspicious/noArrayIndexKey: pieces of a text have no other names
    return isHit ? <mark key={index}>{text}</mark> : <Fragment key={index}>{text}</Fragment>
  })
}
