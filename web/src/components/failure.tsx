/** Shows an error and its remedy. The server's errors carry both. */
import { ApiError } from 'colloquy/client'
import './failure.css'

export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  return (
    <div className="failure" role="alert">
      <p>{explain(error)}</p>
      {onRetry && (
        <button type="button" className="button button--small" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}

export function explain(error: unknown): string {
  if (error instanceof ApiError) {
    if (error.status === 401) return 'This page is not let in. Start the server again and open the address it prints.'
    return error.message
  }
  if (error instanceof TypeError) return 'The server does not answer. Is it running? This page tries again by itself.'
  return error instanceof Error ? error.message : String(error)
}
