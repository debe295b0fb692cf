/** A code block: light highlighting, a copy button, long code cut until expanded. */
import { memo, useMemo, useState } from 'react'
import { highlight } from './highlight.ts'

const shownLines = 60

export const CodeBlock = memo(function CodeBlock({ language, text }: { language: string; text: string }) {
  const [isWhole, setWhole] = useState(false)
  const lines = useMemo(() => text.split('\n'), [text])
  const isLong = lines.length > shownLines + 10
  const shown = isLong && !isWhole ? lines.slice(0, shownLines).join('\n') : text
  const tokens = useMemo(() => highlight(shown, language), [shown, language])
  return (
    <figure className={tokens.length === 1 && tokens[0]!.kind === 'plain' ? 'code code--plain' : 'code'}>
      <figcaption className="code__bar">
        <span>{language || 'code'}</span>
        <CopyButton text={text} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <pre tabIndex={0}>
        <code>
          {tokens.map(({ kind, text }, index) =>
            kind === 'plain' ? (
              text
            ) : (
              // biome-ignore lint/suspicious/noArrayIndexKey: a text has no other names for its parts
              <span key={index} className={`code__${kind}`}>
                {text}
              </span>
            ),
          )}
        </code>
      </pre>
      {isLong && (
        <button type="button" className="button button--quiet button--small" onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : `Show all ${lines.length} lines`}
        </button>
      )}
    </figure>
  )
})

export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [isCopied, setCopied] = useState(false)
  return (
    <button
      type="button"
      className="button button--quiet button--small"
      onClick={() =>
        navigator.clipboard?.writeText(text).then(() => {
          setCopied(true)
          setTimeout(() => setCopied(false), 1500)
        })
      }
    >
      {isCopied ? 'Copied' : label}
    </button>
  )
}
