/** A project: its conversations, most recently active first, live. */
import { useClient, useProject } from '../../connection/client.tsx'
import { useResource } from '../../connection/use-resource.ts'
import { address } from '../../router/address.ts'
import { Link } from '../../router/router.tsx'

export function Home() {
  const project = useProject()
  const client = useClient()
  const { data } = useResource(
    'conversations',
    signal => client.conversations.list({ query: { limit: 50 } }, { signal }),
    () => true,
  )
  return (
    <div className="page">
      <div className="page__inner">
        <h1>{project}</h1>
        <ul className="plain-list">
          {data?.items.map(({ id, title }) => (
            <li key={id}>
              <Link to={address([project, 'conversations', id])}>{title}</Link>
            </li>
          ))}
        </ul>
      </div>
    </div>
  )
}
