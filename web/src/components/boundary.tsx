/** Error boundary: a failing screen shows its error and leaves the rest of the page alone. */
import { Component, type ReactNode } from 'react'
import { Failure } from './failure.tsx'

export class Boundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: undefined }

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (error === undefined) return this.props.children
    return (
      <div className="page">
        <div className="page__inner">
          {isOutdated(error) ? (
            <Failure
              error={new Error('This page is older than the server it came from.')}
              onRetry={() => location.reload()}
            />
          ) : (
            <Failure error={error} onRetry={() => this.setState({ error: undefined })} />
          )}
        </div>
      </div>
    )
  }
}

/** True when a chunk of the page no longer exists because a newer build replaced it. */
function isOutdated(error: unknown): boolean {
  return error instanceof TypeError && error.message.includes('imported module')
}
