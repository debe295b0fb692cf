/** Who said it: a name with a colour of its own, the same everywhere. */
import './author.css'

const colours = 8

export function colourOf(name: string): number {
  let sum = 0
  for (const letter of name) sum = (sum * 31 + letter.codePointAt(0)!) >>> 0
  return sum % colours
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
