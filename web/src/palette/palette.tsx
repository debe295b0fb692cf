/** The command palette on Ctrl-K or Cmd-K: conversations, screens, commands. */
import { useEffect, useMemo, useRef, useState } from 'react'
import { useCombobox } from '../components/combobox.ts'
import { MarkedText } from '../components/marked-text.tsx'
import { useClient, useProject } from '../connection/client.tsx'
import { useStore } from '../connection/store.ts'
import { useResource } from '../connection/use-resource.ts'
import { type Address, address } from '../router/address.ts'
import { go, useAddress } from '../router/router.tsx'
import { routes } from '../routes.tsx'
import { choose, type Theme } from '../theme/theme.ts'
import { commandGroups } from './commands.ts'
import { type Fit, fuzzy } from './fuzzy.ts'
import './palette.css'

interface Entry {
  key: string
  group: string
  label: string
  onChoose(): void
}

const most = 40

export function Palette({ onClose }: { onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const place = placeOf(useAddress())
  const opened = useRef(place)
  useEffect(() => {
    dialog.current?.showModal()
  }, [])
  // Navigation with the browser's buttons closes the palette.
  useEffect(() => {
    if (place !== opened.current) dialog.current?.close()
  }, [place])
  return (
    <dialog
      ref={dialog}
      className="palette"
      aria-label="Command palette"
      onClose={onClose}
      onClick={event => {
        if (event.target === dialog.current) dialog.current.close()
      }}
      onKeyDown={() => undefined}
    >
      <Choices onDone={() => dialog.current?.close()} />
    </dialog>
  )
}

/** The search query is left out, because it follows the typing with a delay. */
function placeOf({ segments, query: { q: _, ...rest } }: Address): string {
  return JSON.stringify([segments, rest])
}

function Choices({ onDone }: { onDone(): void }) {
  const [query, setQuery] = useState('')
  const entries = useEntries(query)
  const shown = useMemo(() => ranked(entries, query), [entries, query])
  const run = (index: number) => {
    onDone()
    shown[index]?.entry.onChoose()
  }
  const box = useCombobox('Choices', shown.length, run)
  const { active, setActive } = box
  // An option chosen with the arrows stays chosen when others appear above it; otherwise the first is chosen.
  const chosen = useRef<string>(undefined)
  const key = shown[active]?.entry.key
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the list is another
  useEffect(() => {
    const at = shown.findIndex(({ entry }) => entry.key === chosen.current)
    if (at > 0 && at !== active) setActive(at)
  }, [shown])
  useEffect(() => {
    chosen.current = active > 0 ? key : undefined
  }, [active, key])
  return (
    <>
      <input
        className="palette__field"
        aria-label="Go to, or do"
        placeholder="Go to a conversation, or do something"
        value={query}
        onChange={event => {
          setQuery(event.target.value)
          chosen.current = undefined
          box.setActive(0)
        }}
        {...box.field}
      />
      <div className="palette__list" {...box.list}>
        {shown.map(({ entry, fit }, index) => (
          <div key={entry.key} className="palette__entry" {...box.option(index)}>
            <span className="cut">
              <MarkedText text={entry.label} ranges={fit.ranges} />
            </span>
            <span className="quiet small">{entry.group}</span>
          </div>
        ))}
      </div>
      <p className="palette__foot small quiet">
        <kbd>↑</kbd> <kbd>↓</kbd> to choose, <kbd>Enter</kbd> to go, <kbd>Esc</kbd> to leave · <kbd>/</kbd> searches
        messages
      </p>
    </>
  )
}

function useEntries(query: string): readonly Entry[] {
  const client = useClient()
  const project = useProject()
  const groups = useStore(commandGroups)
  const { data } = useResource(
    'palette',
    signal => client.conversations.list({ query: { limit: 200 } }, { signal }),
    ({ type }) => type.startsWith('conversation.'),
  )
  // The list shows a limited number; typing finds the others.
  const words = query.trim()
  const isAsked = data?.next !== undefined && words.length > 1
  const others = useResource(`palette ${isAsked} ${words}`, async signal =>
    isAsked ? (await client.projects.search({ query: { text: words, limit: most } }, { signal })).conversations : [],
  )
  return useMemo(() => {
    const here = groups.flatMap(({ title, items }) =>
      items()
        .filter(({ isDisabled }) => !isDisabled)
        .map(({ label, onChoose }) => ({ key: `${title} ${label}`, group: title, label, onChoose })),
    )
    const known = (data?.items ?? []).map(({ id, title, status }) => ({ id, title, status }))
    const found = (others.data ?? []).map(({ conversationId: id, title, status }) => ({ id, title, status }))
    const all = new Map([...known, ...found].map(one => [one.id, one]))
    const conversations = [...all.values()].map(({ id, title, status }) => ({
      key: id,
      group: status === 'active' ? 'conversation' : status,
      label: title,
      onChoose: () => go(address([project, 'conversations', id])),
    }))
    const screens = routes.flatMap(({ title, path }) => {
      if (title === undefined) return []
      const to = address(path.split('/').map(segment => (segment === ':project' ? project : segment)))
      return [{ key: to, group: 'screen', label: title, onChoose: () => go(to) }]
    })
    const themes = (['system', 'light', 'dark'] as Theme[]).map(theme => ({
      key: `theme ${theme}`,
      group: 'theme',
      label: `Theme: ${theme}`,
      onChoose: () => choose(theme),
    }))
    const search = {
      key: 'search',
      group: 'search',
      label: query.trim() === '' ? 'Search messages' : `Search messages for “${query.trim()}”`,
      onChoose: () => go(address([project, 'search'], { q: query.trim() || undefined })),
    }
    const projects = { key: 'projects', group: 'screen', label: 'All projects', onChoose: () => go(address([])) }
    return [...here, ...conversations, ...screens, projects, ...themes, search]
  }, [groups, data, others.data, project, query])
}

function ranked(entries: readonly Entry[], query: string): { entry: Entry; fit: Fit }[] {
  const found: { entry: Entry; fit: Fit }[] = []
  for (const entry of entries) {
    const fit = entry.group === 'search' ? { score: -1, ranges: [] } : fuzzy(query, entry.label)
    if (fit) found.push({ entry, fit })
  }
  // Without a query the order of the groups holds.
  if (query.trim() !== '') found.sort((a, b) => b.fit.score - a.fit.score)
  return found.slice(0, most)
}
