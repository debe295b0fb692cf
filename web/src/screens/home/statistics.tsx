/** Size and cost of the project. */
import { useClient } from '../../connection/client.tsx'
import { useResource } from '../../connection/use-resource.ts'
import { dollars, short } from '../../format.ts'

export function Statistics() {
  const client = useClient()
  const isChange = ({ type }: { type: string }) =>
    type === 'message.added' || type === 'checkpoint.taken' || type === 'conversation.created'
  const stats = useResource('stats', signal => client.projects.stats({}, { signal }), isChange, 1500)
  const totals = useResource('totals', signal => client.projects.totals({}, { signal }), isChange, 5000)
  const { data } = stats
  const spent = totals.data?.project
  const figures: [string, string, string?][] = [
    ['Conversations', data ? short(data.conversations) : '–'],
    ['Sessions', data ? short(data.sessions) : '–'],
    ['Messages', data ? short(data.messages) : '–'],
    ['Tokens', data ? short(data.tokens) : '–', 'What was said, counted once'],
    ['Compactions', data ? short(data.compactions) : '–'],
    ['In / out', spent ? `${short(spent.input)} / ${short(spent.output)}` : '–', 'As providers reported it'],
    [
      'Cost',
      // Unknown cost is not zero cost.
      !spent ? '–' : spent.calls > 0 && spent.unpriced === spent.calls ? 'unknown' : dollars(spent.cost),
      spent && spent.unpriced > 0 ? `${spent.unpriced} calls have no known price` : 'Of the calls whose price is known',
    ],
  ]
  return (
    <dl className="home__statistics">
      {figures.map(([name, value, hint]) => (
        <div key={name} title={hint}>
          <dt>{name}</dt>
          <dd className="numbers">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
