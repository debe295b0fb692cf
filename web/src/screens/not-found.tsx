/** The screen for an unknown address. */
import { address } from '../router/address.ts'
import { Link } from '../router/router.tsx'

export function NotFound() {
  return (
    <main className="page">
      <div className="page__inner">
        <h1>There is nothing at this address</h1>
        <p>
          <Link to={address([])}>All projects</Link>
        </p>
      </div>
    </main>
  )
}
