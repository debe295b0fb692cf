/** The parts of a message: text, and folded tool calls, results, reasoning and files. */
import type { Part } from 'colloquy/client'
import { useState } from 'react'
import { Fold } from '../components/fold.tsx'
import { bytes, firstWords } from '../format.ts'
import { CodeBlock } from '../markdown/code-block.tsx'
import { Markdown } from '../markdown/markdown.tsx'

export function Parts({ parts }: { parts: readonly Part[] }) {
  return parts.map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other names, and never change
    <div className="part" key={index}>
      <PartContent part={part} />
    </div>
  ))
}

function PartContent({ part }: { part: Part }) {
  switch (part.type) {
    case 'text':
      return <LongText text={part.text} />
    case 'reasoning':
      return (
        <Fold summary={<span>Reasoning · {firstWords(part.text, 80)}</span>} className="part--reasoning">
          {() => <LongText text={part.text} />}
        </Fold>
      )
    case 'tool-call':
      return (
        <Fold
          summary={
            <span className="cut">
              <span className="badge badge--accent">tool</span> <b className="mono">{part.name}</b>{' '}
              <span className="mono">{firstWords(json(part.input, 0), 90)}</span>
            </span>
          }
        >
          {() => <CodeBlock language="json" text={json(part.input, 2)} />}
        </Fold>
      )
    case 'tool-result': {
      const text = typeof part.output === 'string' ? part.output : json(part.output, 2)
      return (
        <Fold
          summary={
            <span className="cut">
              <span className={part.isError ? 'badge badge--bad' : 'badge'}>{part.isError ? 'error' : 'result'}</span>{' '}
              {part.name !== undefined && <b className="mono">{part.name}</b>} {bytes(text.length)} ·{' '}
              <span className="mono">{firstWords(text, 80)}</span>
            </span>
          }
        >
          {() => <CodeBlock language={typeof part.output === 'string' ? 'text' : 'json'} text={text} />}
        </Fold>
      )
    }
    case 'file': {
      const where = part.path ?? part.url
      const summary = (
        <span className="cut">
          <span className="badge badge--note">file</span> <b className="mono">{part.name}</b>{' '}
          {where !== undefined && where !== part.name && <span className="mono">{where}</span>}
        </span>
      )
      if (part.text === undefined) return <div className="part__file small quiet">{summary}</div>
      return <Fold summary={summary}>{() => <CodeBlock language={languageOf(part.name)} text={part.text!} />}</Fold>
    }
  }
}

const shownCharacters = 12_000

function LongText({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false)
  if (text.length <= shownCharacters + 2000 || isWhole) return <Markdown text={text} />
  return (
    <>
      <Markdown text={text.slice(0, shownCharacters)} />
      <button type="button" className="button button--small" onClick={() => setWhole(true)}>
        Show all {bytes(text.length)}
      </button>
    </>
  )
}

function json(value: unknown, indent: number): string {
  return JSON.stringify(value, null, indent) ?? 'undefined'
}

function languageOf(name: string): string {
  return /\.(\w{1,8})$/.exec(name)?.[1] ?? ''
}
