/**
 * A virtual list. The row in view keeps its place while rows above it load and are measured; a list at its end stays at
 * the end.
 */
import {
  type KeyboardEvent,
  type ReactNode,
  type Ref,
  type RefObject,
  useCallback,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { Heights } from './heights.ts'
import './scroller.css'

export interface ScrollerHandle {
  jumpTo(row: number): void
  jumpToEnd(): void
}

interface Props {
  ref?: Ref<ScrollerHandle>
  label: string
  count: number
  /** Returns undefined while the row is loading, null when it shows nothing. */
  row(index: number): ReactNode | undefined
  /** Called with the rows in or near the view. */
  onRange(first: number, last: number): void
  onAtEnd?(isAtEnd: boolean): void
  /** Initial position: a row, or the end. */
  start: number | 'end'
  /** Below the last row. */
  footer?: ReactNode
}

const estimate = 72
/** Pixels rendered above and below the view. */
const margin = 600
/** Scrolling down to within this distance counts as the end; scrolling up past it leaves the end. */
const nearEnd = 40
const farFromEnd = 8

export function Scroller({ ref, label, count, row, onRange, onAtEnd, start, footer }: Props) {
  const view = useRef<HTMLElement>(null)
  const [heights] = useState(() => new Heights(estimate))
  const [, setTick] = useState(0)
  const redraw = useCallback(() => setTick(tick => tick + 1), [])
  /** The first visible row, and how much of it is scrolled out of view. */
  const anchor = useRef({ row: start === 'end' ? Math.max(0, count - 1) : start, offset: start === 'end' ? 0 : -80 })
  const isAtEnd = useRef(start === 'end')
  const lastTop = useRef(0)
  const isGuessed = useRef(false)
  const hasShrunk = useRef(false)
  heights.resize(count)

  const height = view.current?.clientHeight ?? 800
  const top = isAtEnd.current
    ? Math.max(0, heights.total - height)
    : heights.top(anchor.current.row) + anchor.current.offset
  const first = count === 0 ? 0 : heights.rowAt(Math.max(0, top - margin))
  const last = count === 0 ? -1 : heights.rowAt(top + height + margin)

  const setAtEnd = useCallback(
    (next: boolean) => {
      if (next === isAtEnd.current) return
      isAtEnd.current = next
      onAtEnd?.(next)
    },
    [onAtEnd],
  )

  /** Measures the rendered rows and restores the scroll position. */
  const settle = useCallback(() => {
    const element = view.current
    if (!element) return
    const rows = measureRows(element, heights)
    let hasChanged = hasShrunk.current || rows.hasChanged
    hasShrunk.current = false
    if (!isGuessed.current && rows.count >= 8) {
      isGuessed.current = true
      heights.guess(Math.max(12, Math.round(rows.totalHeight / rows.count)))
      hasChanged = true
    }
    const wanted = isAtEnd.current
      ? element.scrollHeight - element.clientHeight
      : placeOf(element, anchor.current, heights)
    if (Math.abs(element.scrollTop - wanted) > 1) element.scrollTop = wanted
    lastTop.current = element.scrollTop
    if (hasChanged) redraw()
  }, [heights, redraw])

  useLayoutEffect(settle)

  useEffect(() => {
    onRange(first, last)
  }, [onRange, first, last])

  useSizeChanges(view, settle)

  const onScroll = () => {
    const element = view.current!
    const { scrollTop, scrollHeight, clientHeight } = element
    // A scroll of our own: the requested position stays requested until there is room to show it.
    if (Math.abs(scrollTop - lastTop.current) <= 1) return
    // Content that grows below does not leave the end; only scrolling up does.
    const isUp = scrollTop < lastTop.current - 1
    const left = scrollHeight - scrollTop - clientHeight
    const wasAtEnd = isAtEnd.current
    lastTop.current = scrollTop
    setAtEnd(isUp ? left < farFromEnd : wasAtEnd || left < nearEnd)
    if (isAtEnd.current && wasAtEnd) return
    const at = heights.rowAt(scrollTop)
    anchor.current = { row: at, offset: scrollTop - heights.top(at) }
    redraw()
  }

  useImperativeHandle(ref, () => ({
    jumpTo(index) {
      setAtEnd(false)
      anchor.current = { row: Math.max(0, Math.min(index, count - 1)), offset: -80 }
      redraw()
    },
    jumpToEnd() {
      setAtEnd(true)
      redraw()
    },
  }))

  const shown: ReactNode[] = []
  for (let index = first; index <= last; index++) {
    const content = row(index)
    if (content === null) {
      // The empty row leaves room for more.
      if (heights.set(index, 0)) hasShrunk.current = true
      continue
    }
    shown.push(
      <div key={index} className="scroller__row" data-row={index} data-is-read={content === undefined ? undefined : ''}>
        {content === undefined ? <Gap height={heights.height(index)} /> : content}
      </div>,
    )
  }
  return (
    <section
      className="scroller"
      ref={view}
      onScroll={onScroll}
      onKeyDown={walk}
      aria-label={label}
      aria-keyshortcuts="j k"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
      tabIndex={0}
    >
      <div className="scroller__space" style={{ height: heights.top(first) }} />
      {shown}
      <div className="scroller__space" style={{ height: Math.max(0, heights.total - heights.top(last + 1)) }} />
      {footer}
    </section>
  )
}

function measureRows(element: HTMLElement, heights: Heights) {
  const rows = { count: 0, totalHeight: 0, hasChanged: false }
  for (const row of element.querySelectorAll<HTMLElement>(':scope > [data-row]')) {
    if (row.dataset.isRead === undefined) continue
    const size = row.offsetHeight
    rows.count++
    rows.totalHeight += size
    if (heights.set(Number(row.dataset.row), size)) rows.hasChanged = true
  }
  return rows
}

/** Rows can grow later (an unfolded part, a streaming answer), and the window can be resized. */
function useSizeChanges(view: RefObject<HTMLElement | null>, onChange: () => void): void {
  useEffect(() => {
    const element = view.current!
    const sizes = new ResizeObserver(onChange)
    const watch = () => {
      sizes.disconnect()
      sizes.observe(element)
      for (const child of element.children) sizes.observe(child)
    }
    const children = new MutationObserver(watch)
    children.observe(element, { childList: true })
    watch()
    return () => {
      sizes.disconnect()
      children.disconnect()
    }
  }, [view, onChange])
}

/** Placeholder of a row that is loading. */
function Gap({ height }: { height: number }) {
  return <div className="scroller__gap" style={{ height }} aria-hidden="true" />
}

/** Computes the scroll position that keeps the anchor in place: from the rendered row, else from known heights. */
function placeOf(element: HTMLElement, { row, offset }: { row: number; offset: number }, heights: Heights): number {
  const rendered = element.querySelector<HTMLElement>(`:scope > [data-row="${row}"]`)
  const top = rendered ? rendered.offsetTop : heights.top(row)
  return Math.max(0, Math.min(top + offset, element.scrollHeight - element.clientHeight))
}

/** Moves to the next and previous message with `j` and `k`. */
function walk(event: KeyboardEvent<HTMLElement>): void {
  if ((event.key !== 'j' && event.key !== 'k') || event.ctrlKey || event.metaKey || event.altKey) return
  if (event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement) return
  const view = event.currentTarget
  const articles = [...view.querySelectorAll<HTMLElement>('article')]
  const at = articles.findIndex(article => article.contains(document.activeElement))
  const { top } = view.getBoundingClientRect()
  const first = articles.findIndex(article => article.getBoundingClientRect().bottom > top + 8)
  const next = articles[at < 0 ? first : at + (event.key === 'j' ? 1 : -1)]
  next?.focus({ preventScroll: true })
  next?.scrollIntoView({ block: 'nearest' })
}
