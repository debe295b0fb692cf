/**
 * Renders a message's Markdown as elements. Content is untrusted: its HTML stays text, links show their target, and
 * nothing is fetched.
 */
import { Fragment, memo, type ReactNode, useMemo } from 'react'
import { parseMarkdown } from './blocks.ts'
import { CodeBlock } from './code-block.tsx'
import './markdown.css'
import { safeTarget } from './target.ts'
import type { Block, Inline } from './tree.ts'

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => parseMarkdown(text), [text])
  return <div className="markdown">{blocks.map(blockElement)}</div>
})

function blockElement(block: Block, key: number): ReactNode {
  switch (block.type) {
    case 'paragraph':
      return <p key={key}>{inlines(block.children)}</p>
    case 'heading':
      return (
        // Headings of a message are not part of the page's outline.
        <p key={key} className={`markdown__heading markdown__heading--${Math.min(block.level, 4)}`}>
          {inlines(block.children)}
        </p>
      )
    case 'code':
      return <CodeBlock key={key} language={block.language} text={block.text} />
    case 'quote':
      return <blockquote key={key}>{block.children.map(blockElement)}</blockquote>
    case 'rule':
      return <hr key={key} />
    case 'list': {
      const items = block.items.map(({ checked, children }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a text has no other names for its parts
        <li key={index} className={checked === undefined ? undefined : 'markdown__task'}>
          {checked !== undefined && (
            <span className="markdown__box" role="img" aria-label={checked ? 'done' : 'to do'}>
              {checked ? '☑' : '☐'}
            </span>
          )}
          {itemContent(children)}
        </li>
      ))
      return block.start === undefined ? (
        <ul key={key}>{items}</ul>
      ) : (
        <ol key={key} start={block.start}>
          {items}
        </ol>
      )
    }
    case 'table':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        <section className="markdown__table" key={key} tabIndex={0} aria-label="Table">
          <table>
            <thead>
              <tr>
                {block.head.map((cell, column) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: a text has no other names for its parts
                  <th key={column}>{inlines(cell)}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {block.rows.map((row, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a text has no other names for its parts
                <tr key={index}>
                  {row.map((cell, column) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: a text has no other names for its parts
                    <td key={column}>{inlines(cell)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )
  }
}

/** An item with a single paragraph is rendered without the paragraph. */
function itemContent(children: readonly Block[]): ReactNode {
  const [first, ...rest] = children
  if (first?.type !== 'paragraph') return children.map(blockElement)
  return (
    <>
      {inlines(first.children)}
      {rest.map(blockElement)}
    </>
  )
}

function inlines(children: readonly Inline[]): ReactNode {
  return children.map(inlineElement)
}

function inlineElement(inline: Inline, key: number): ReactNode {
  switch (inline.type) {
    case 'text':
      return <Fragment key={key}>{inline.text}</Fragment>
    case 'code':
      return <code key={key}>{inline.text}</code>
    case 'strong':
      return <strong key={key}>{inlines(inline.children)}</strong>
    case 'emphasis':
      return <em key={key}>{inlines(inline.children)}</em>
    case 'deleted':
      return <del key={key}>{inlines(inline.children)}</del>
    case 'break':
      return <br key={key} />
    case 'link':
      return <OutsideLink key={key} {...inline} words={inlines(inline.children)} />
    case 'image':
      return <OutsideLink key={key} {...inline} words={`Image: ${inline.text || 'without a name'}`} />
  }
}

/** Images are rendered as links, because fetching them would contact unknown hosts. */
function OutsideLink({
  target,
  title,
  isBare,
  words,
}: {
  target: string
  title?: string
  isBare?: true
  words: ReactNode
}) {
  const safe = safeTarget(target)
  if (!safe) {
    return (
      <span title="It leads to no page, so it is no link">
        {words}
        {!isBare && <span className="quiet"> ({target})</span>}
      </span>
    )
  }
  return (
    <a
      href={safe.href}
      target="_blank"
      rel="noopener noreferrer nofollow ugc"
      title={title === undefined ? safe.href : `${title}: ${safe.href}`}
    >
      {words}
      <span className="markdown__place"> ↗{!isBare && ` ${safe.place}`}</span>
    </a>
  )
}
