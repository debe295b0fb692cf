/** Search across the project: messages by their words, conversations by title. `/` opens it anywhere. */
import type { Found } from 'colloquy/client'
import { useEffect, useState } from 'react'
import { useCombobox } from '../../components/combobox.ts'
import { Failure } from '../../components/failure.tsx'
import { MarkedText } from '../../components/marked-text.tsx'
import { Time } from '../../components/time.tsx'
import { useClient, useProject } from '../../connection/client.tsx'
import { useTitle } from '../../connection/questions.tsx'
import { useResource } from '../../connection/use-resource.ts'
import { Author } from '../../message/author.tsx'
import { address } from '../../router/address.ts'
import { go, goWith, useAddress } from '../../router/router.tsx'
import { itemName } from '../conversation/header.tsx'
import './search.css'

const restMs = 160
const pageSize = 50
/** Maximum number of results of one request. */
const maxResults = 1000
const nothing: Found = { messages: [], conversations: [] }
const roles = ['user', 'assistant', 'system'] as const

export function Search() {
  const project = useProject()
  const { query } = useAddress()
  const { q = '' } = query
  const isWithArchived = query.archived !== undefined
  const [text, setText] = useState(q)
  useTitle('Search')

  // The address follows the query, so that a search can be shared and returned to.
  useEffect(() => {
    const timer = setTimeout(() => goWith({ q: text.trim() || undefined }, { replace: true }), restMs)
    return () => clearTimeout(timer)
  }, [text])

  const { data, error, reload, results, hasMore, showMore } = useSearch(query)
  const { messages, conversations } = results

  const open = (index: number) => {
    const title = conversations[index]
    const hit = messages[index - conversations.length]
    if (title) go(address([project, 'conversations', title.conversationId]))
    else if (hit) go(address([project, 'conversations', hit.conversationId], { v: hit.version }))
  }
  const count = conversations.length + messages.length
  const box = useCombobox('Found', count, open)
  // Arrow keys past the last result load more.
  const isAtLast = count > 0 && box.active === count - 1
  // biome-ignore lint/correctness/useExhaustiveDependencies: when it is reached, once
  useEffect(() => {
    if (isAtLast && hasMore) showMore()
  }, [isAtLast])
  return (
    <div className="search">
      <h1 className="unseen">Search {project}</h1>
      <search className="search__form">
        <input
          id="search-field"
          className="field search__field"
          type="search"
          // biome-ignore lint/a11y/noAutofocus: who comes here comes to type
          autoFocus
          aria-label={`Search ${project}`}
          placeholder="Words in messages, or a title"
          value={text}
          onChange={event => {
            setText(event.target.value)
            box.setActive(0)
          }}
          {...box.field}
        />
        <Filters query={query} />
      </search>
      {error !== undefined && <Failure error={error} onRetry={reload} />}
      <p className="unseen" role="status">
        {q === '' ? '' : `${count} found`}
      </p>
      <div className="search__hits" {...box.list}>
        <Hits results={results} option={box.option} />
      </div>
      {count > 0 && <MoreHits results={results} hasMore={hasMore} onMore={showMore} />}
      {q !== '' && data && count === 0 && (
        <p className="search__nothing quiet">
          Nothing was found. Words are matched by their stems, titles with typos.
          {isWithArchived ? '' : ' Archived conversations are left out.'}
        </p>
      )}
      {q === '' && (
        <p className="search__nothing quiet">
          <kbd>↑</kbd> <kbd>↓</kbd> go through what is found, <kbd>Enter</kbd> opens it where it was said.
        </p>
      )}
    </div>
  )
}

/** Runs the search of an address. The results of the search before stay until the new ones are there. */
function useSearch(query: Readonly<Record<string, string>>) {
  const client = useClient()
  const { q = '', author, role, phase, since, conversation } = query
  const searchKey = JSON.stringify(query)
  const [page, setPage] = useState({ searchKey, limit: pageSize })
  const limit = page.searchKey === searchKey ? page.limit : pageSize
  const { data, error, reload } = useResource(`${searchKey} ${limit}`, signal => {
    if (q === '') return Promise.resolve(nothing)
    const search = {
      text: q,
      limit,
      ...(author !== undefined && { author }),
      ...(roles.some(known => known === role) && { role: role as (typeof roles)[number] }),
      ...(phase !== undefined && { phase }),
      ...(since !== undefined && { since: new Date(since).toISOString() }),
      ...(conversation !== undefined && { conversationId: conversation }),
      ...(query.archived === undefined && { archived: false }),
    }
    return client.projects.search({ query: search }, { signal })
  })
  const [lastResults, setLastResults] = useState(nothing)
  useEffect(() => {
    if (data) setLastResults(data)
  }, [data])
  const results = data ?? lastResults
  return {
    data,
    error,
    reload,
    results,
    hasMore: hitCount(results) >= limit && limit < maxResults,
    showMore: () => setPage({ searchKey, limit: Math.min(maxResults, limit * 2) }),
  }
}

/** Messages and conversations have a limit each. */
function hitCount({ messages, conversations }: Found): number {
  return Math.max(messages.length, conversations.length)
}

function Hits({ results, option }: { results: Found; option: ReturnType<typeof useCombobox>['option'] }) {
  const { messages, conversations } = results
  return (
    <>
      {conversations.map(({ conversationId, title, status, workItem }, index) => (
        <div key={conversationId} className="search__hit" {...option(index)}>
          <div className="row">
            <b>{title}</b>
            {status !== 'active' && <span className="badge">{status}</span>}
            <span className="quiet small">{itemName(workItem)}</span>
          </div>
        </div>
      ))}
      {messages.map((hit, index) => (
        <div key={hit.messageId} className="search__hit" {...option(conversations.length + index)}>
          <div className="row small">
            <Author name={hit.author} />
            <span className="quiet cut">in {hit.title}</span>
            {hit.archived && <span className="badge">archived</span>}
            <span className="grow" />
            <span className="quiet numbers">v{hit.version}</span>
            <Time at={hit.at} className="quiet" />
          </div>
          <p className="search__snippet">
            <MarkedText text={hit.snippet} ranges={hit.highlights} />
          </p>
        </div>
      ))}
    </>
  )
}

function MoreHits({ results, hasMore, onMore }: { results: Found; hasMore: boolean; onMore(): void }) {
  const isFull = results.messages.length >= maxResults
  return (
    <div className="search__more quiet small">
      {hasMore ? (
        <>
          <span>The best {hitCount(results)} are shown.</span>{' '}
          <button type="button" className="button button--small" onClick={onMore}>
            Show more
          </button>
        </>
      ) : isFull ? (
        `The best ${maxResults} are shown. More words, or a filter, narrow it down.`
      ) : (
        'That is all.'
      )}
    </div>
  )
}

function Filters({ query }: { query: Readonly<Record<string, string>> }) {
  const set = (name: string) => (event: { target: { value: string } }) =>
    goWith({ [name]: event.target.value || undefined }, { replace: true })
  return (
    <div className="search__filters">
      <label>
        Author <input className="field" value={query.author ?? ''} onChange={set('author')} />
      </label>
      <label>
        Role{' '}
        <select className="field" value={query.role ?? ''} onChange={set('role')}>
          <option value="">any</option>
          {roles.map(role => (
            <option key={role}>{role}</option>
          ))}
        </select>
      </label>
      <label>
        Phase <input className="field" value={query.phase ?? ''} onChange={set('phase')} />
      </label>
      <label>
        Since <input className="field" type="date" value={query.since ?? ''} onChange={set('since')} />
      </label>
      <label className="search__check">
        <input
          type="checkbox"
          checked={query.archived !== undefined}
          onChange={event => goWith({ archived: event.target.checked ? 1 : undefined }, { replace: true })}
        />
        Archived too
      </label>
      {query.conversation !== undefined && (
        <button
          type="button"
          className="button button--small"
          onClick={() => goWith({ conversation: undefined }, { replace: true })}
        >
          In one conversation ×
        </button>
      )}
    </div>
  )
}
