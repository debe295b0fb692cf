/** The projects of the store. A single project opens directly. */
import { useEffect, useState } from 'react'
import { Failure } from '../../components/failure.tsx'
import { server } from '../../connection/client.tsx'
import { address, parseAddress } from '../../router/address.ts'
import { go, Link } from '../../router/router.tsx'

export function Projects() {
  const [projects, setProjects] = useState<readonly string[]>()
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    document.title = 'Colloquy'
    let isGone = false
    Promise.all([server.projects.list(), server.operations.whoami()]).then(([{ items }, { project }]) => {
      const names = [...new Set([...items.map(({ id }) => id), ...(project === '' ? [] : [project])])].sort()
      // The person may have navigated away before the list arrived.
      if (isGone || parseAddress(location.hash).segments.length > 0) return
      if (names.length === 1) go(address([names[0]!]), { replace: true })
      else setProjects(names)
    }, setError)
    return () => {
      isGone = true
    }
  }, [])
  return (
    <main className="page">
      <div className="page__inner">
        <h1>Projects</h1>
        {error !== undefined && <Failure error={error} />}
        <ul className="plain-list">
          {projects?.map(project => (
            <li key={project}>
              <Link to={address([project])}>{project}</Link>
            </li>
          ))}
        </ul>
      </div>
    </main>
  )
}
