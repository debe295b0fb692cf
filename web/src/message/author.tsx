/** An author's name, in the same colour everywhere. */
import './author.css'

const colours = 8

/** FNV-1a: similar short names get different colours. */
function colourOf(name: string): number {
  let hash = 0x811c9dc5
  for (const letter of name) hash = Math.imul(hash ^ letter.codePointAt(0)!, 0x01000193) >>> 0
  return ((hash ^ (hash >>> 16)) >>> 0) % colours
}

export function Author({ name }: { name: string }) {
  return (
    <span className="author">
      <span className={`author__sign author__sign--${colourOf(name)}`} aria-hidden="true">
        {[...name][0]?.toUpperCase()}
      </span>
      <span className="author__name cut">{name}</span>
    </span>
  )
}
