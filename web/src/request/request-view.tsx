/**
 * A request as it would be sent, next to its ledger. Hovering an entry marks its text, and hovering text marks its
 * entry.
 */

import { type MouseEvent, memo, useCallback, useMemo, useRef, useState } from 'react'
import { counted, short, whole } from '../format.ts'
import { Link } from '../router/router.tsx'
import { conversationPlace } from '../screens/places.ts'
import { bySection, keyOf, type LedgerEntry, type Piece, sectionNames } from './part-key.ts'
import './request-view.css'

export interface Explained {
  system: Piece[]
  messages: Array<{ role: 'user' | 'assistant'; parts: Array<{ type: string; pieces: Piece[] }> }>
  systemPrompt: Piece[]
  userPrompt: Piece[]
}

type Rendering = 'messages' | 'prompts'

export function RequestView({
  project,
  conversationId,
  entries,
  explained,
}: {
  project: string
  conversationId: string
  entries: readonly LedgerEntry[]
  explained: Explained
}) {
  const [rendering, setRendering] = useState<Rendering>('messages')
  const [pointed, setPointed] = useState<string>()
  const words = useRef<HTMLDivElement>(null)
  const sections = useMemo(() => bySection(entries), [entries])
  const byKey = useMemo(() => {
    const all = new Map<string, LedgerEntry>()
    // A section's heading shares its key with its content; the content's entry says more.
    for (const entry of entries) if (!all.has(keyOf(entry)) || entry.why !== 'its heading') all.set(keyOf(entry), entry)
    return all
  }, [entries])
  const entry = pointed === undefined ? undefined : byKey.get(pointed)
  const show = useCallback((key: string) => {
    const pane = words.current
    const found = pane?.querySelector<HTMLElement>(`[data-part="${CSS.escape(key)}"]`)
    // Scrolls the pane only, not the page.
    if (pane && found) pane.scrollTop += found.getBoundingClientRect().top - pane.getBoundingClientRect().top - 32
  }, [])
  return (
    <div className="request">
      <div className="request__why" role="status">
        {entry ? (
          <Why entry={entry} />
        ) : (
          <span className="quiet">Point at a part, or go to it with Tab, to see why it is there.</span>
        )}
      </div>
      <div className="request__panes">
        <section className="request__ledger" aria-label="Ledger">
          {sections.map(({ name, tokens, entries }) => (
            <div key={name}>
              <h2 className="request__section">
                {sectionNames[name]} <span className="quiet numbers">{short(tokens)}</span>
              </h2>
              <ol>
                {entries.map((entry, index) => (
                  <LedgerLine
                    // biome-ignore lint/suspicious/noArrayIndexKey: headings have no name of their own
                    key={index}
                    entry={entry}
                    isPointed={pointed === keyOf(entry)}
                    onPoint={setPointed}
                    onShow={show}
                    to={placeOf(project, conversationId, entry)}
                  />
                ))}
              </ol>
            </div>
          ))}
        </section>
        <section className="request__words" aria-label="Rendering">
          <fieldset className="group request__choice" aria-label="Form of the request">
            {(['messages', 'prompts'] as const).map(name => (
              <button
                key={name}
                type="button"
                className="button button--small"
                aria-pressed={rendering === name}
                onClick={() => setRendering(name)}
              >
                {name === 'messages' ? 'Messages API' : 'Two prompts'}
              </button>
            ))}
          </fieldset>
          {/* biome-ignore lint/a11y/noStaticElementInteractions: pointing is an extra; the parts take the focus */}
          <div className="request__text" ref={words} onMouseLeave={() => setPointed(undefined)}>
            {rendering === 'messages' ? (
              <>
                <Said by="system" pieces={explained.system} pointed={pointed} onPoint={setPointed} byKey={byKey} />
                {explained.messages.map(({ role, parts }, index) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: the order is all they have
                  <div key={index} className="request__said">
                    <h3>{role}</h3>
                    {parts.map(({ type, pieces }, at) => (
                      // biome-ignore lint/suspicious/noArrayIndexKey: the order is all they have
                      <div key={at} className={`request__part request__part--${type}`}>
                        {type !== 'text' && <span className="badge">{type}</span>}
                        <Pieces pieces={pieces} pointed={pointed} onPoint={setPointed} byKey={byKey} />
                      </div>
                    ))}
                  </div>
                ))}
              </>
            ) : (
              <>
                <Said
                  by="system prompt"
                  pieces={explained.systemPrompt}
                  pointed={pointed}
                  onPoint={setPointed}
                  byKey={byKey}
                />
                <Said
                  by="user prompt"
                  pieces={explained.userPrompt}
                  pointed={pointed}
                  onPoint={setPointed}
                  byKey={byKey}
                />
              </>
            )}
          </div>
        </section>
      </div>
    </div>
  )
}

interface Pointing {
  pointed: string | undefined
  onPoint: (key: string | undefined) => void
  byKey: ReadonlyMap<string, LedgerEntry>
}

function Said({ by, pieces, ...pointing }: { by: string; pieces: readonly Piece[] } & Pointing) {
  return (
    <div className="request__said">
      <h3>{by}</h3>
      {pieces.length === 0 ? <p className="quiet">(empty)</p> : <Pieces pieces={pieces} {...pointing} />}
    </div>
  )
}

function Pieces({ pieces, pointed, onPoint, byKey }: { pieces: readonly Piece[] } & Pointing) {
  return pieces.map((piece, index) => {
    const key = keyOf(piece)
    const entry = byKey.get(key)
    return (
      <PieceText
        // biome-ignore lint/suspicious/noArrayIndexKey: the order is all they have
        key={index}
        text={piece.text}
        partKey={key}
        isPointed={pointed === key}
        isTrimmed={entry?.fate === 'trimmed'}
        label={entry ? labelOf(entry) : piece.what}
        onPoint={onPoint}
      />
    )
  })
}

/** Scrolling below a resting mouse also fires events; those are ignored. */
function isMoved({ movementX, movementY }: MouseEvent): boolean {
  return movementX !== 0 || movementY !== 0
}

/** Longer parts are cut until expanded, because a million characters would block the page. */
const shownAtOnce = 3000

const PieceText = memo(function PieceText(props: {
  text: string
  partKey: string
  isPointed: boolean
  isTrimmed: boolean
  label: string
  onPoint: (key: string | undefined) => void
}) {
  const { text, partKey, isPointed, isTrimmed, label, onPoint } = props
  const [isWhole, setWhole] = useState(false)
  const isLong = text.length > shownAtOnce && !isWhole
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms */}
      <div
        role="group"
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard's way of pointing at it
        tabIndex={0}
        className={`piece${isPointed ? ' piece--pointed' : ''}${isTrimmed ? ' piece--trimmed' : ''}`}
        data-part={partKey}
        onMouseMove={event => isMoved(event) && onPoint(partKey)}
        onFocus={() => onPoint(partKey)}
      >
        {(isLong ? text.slice(0, shownAtOnce) : text).replace(/^\n+/, '')}
      </div>
      {isLong && (
        <button type="button" className="button button--small" onClick={() => setWhole(true)}>
          Show the other {whole(text.length - shownAtOnce)} characters
        </button>
      )}
    </>
  )
})

const fates: Record<LedgerEntry['fate'], { word: string; badge: string }> = {
  kept: { word: 'kept', badge: 'badge badge--good' },
  trimmed: { word: 'trimmed', badge: 'badge badge--warn' },
  summarised: { word: 'summarised', badge: 'badge badge--note' },
  'left-out': { word: 'left out', badge: 'badge badge--bad' },
}

const LedgerLine = memo(function LedgerLine({
  entry,
  isPointed,
  onPoint,
  onShow,
  to,
}: {
  entry: LedgerEntry
  isPointed: boolean
  onPoint: (key: string | undefined) => void
  onShow: (key: string) => void
  to: string | undefined
}) {
  const key = keyOf(entry)
  const { word, badge } = fates[entry.fate]
  return (
    <li
      className={isPointed ? 'request__line request__line--pointed' : 'request__line'}
      onMouseMove={event => isMoved(event) && onPoint(key)}
    >
      <button
        type="button"
        onFocus={() => onPoint(key)}
        onClick={() => {
          onPoint(key)
          onShow(key)
        }}
        title={entry.why}
      >
        <span className="grow cut">{nameOf(entry)}</span>
        <span className={badge}>{word}</span>
        <span className="numbers quiet request__tokens">{entry.tokens > 0 ? whole(entry.tokens) : '–'}</span>
        <span className="unseen">tokens. {entry.why}</span>
      </button>
      {to !== undefined && (
        <Link
          to={to}
          className="request__go"
          aria-label={`${nameOf(entry)} in the conversation`}
          title="In the conversation"
        >
          ›
        </Link>
      )}
    </li>
  )
})

function Why({ entry }: { entry: LedgerEntry }) {
  const { word, badge } = fates[entry.fate]
  return (
    <>
      <span className={badge}>{word}</span> <strong>{nameOf(entry)}</strong>
      {entry.tokens > 0 && <span className="numbers"> · {counted(entry.tokens, 'token')}</span>}
      <span> · {entry.why}</span>
    </>
  )
}

function labelOf(entry: LedgerEntry): string {
  return `${nameOf(entry)}, ${fates[entry.fate].word}: ${entry.why}`
}

function nameOf({ what, versions, range, why }: LedgerEntry): string {
  if (range) return `${counted(range.messages, 'message')} ${range.from}–${range.to}`
  if (versions?.length)
    return `${what === 'message' || what === 'catch-up' ? 'Message' : 'Quote of'} ${versions.join(', ')}`
  if (what === 'message') return 'This message'
  const name = sectionNames[what as keyof typeof sectionNames] ?? 'Notice'
  return why === 'its heading' ? `${name}, heading` : name
}

function placeOf(project: string, conversationId: string, { versions, range }: LedgerEntry): string | undefined {
  const version = versions?.[0] ?? range?.from
  return version === undefined ? undefined : conversationPlace(project, conversationId, version)
}
