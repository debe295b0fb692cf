/** A line that unfolds. Its content is rendered only when open. */
import { type ReactNode, useState } from 'react'
import './fold.css'

interface Props {
  summary: ReactNode
  children: () => ReactNode
  className?: string
  isOpen?: boolean
}

export function Fold({ summary, children, className = '', isOpen = false }: Props) {
  const [isUnfolded, setUnfolded] = useState(isOpen)
  return (
    <details
      className={`fold ${className}`}
      open={isUnfolded}
      onToggle={event => setUnfolded(event.currentTarget.open)}
    >
      <summary>{summary}</summary>
      {isUnfolded && <div className="fold__inside">{children()}</div>}
    </details>
  )
}
