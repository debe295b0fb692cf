/** The servers that share this store, with their state. Any of them may have served this page. */
import type { ReactNode } from 'react'
import { When } from '../../components/when.tsx'
import { bytes, counted, duration, whole } from '../../format.ts'
import { Chart } from './chart.tsx'
import './nodes.css'
import type { Look, ServerNode } from './use-samples.ts'

export function Nodes({ samples }: { samples: readonly Look[] }) {
  const nodes = samples.at(-1)?.nodes ?? []
  return (
    <section aria-label="Nodes" className="nodes">
      <h2>
        Nodes <span className="quiet small">{counted(nodes.length, 'server')} of this store</span>
      </h2>
      <ul>
        {nodes.map(node => (
          <NodeCard key={node.id} node={node} samples={samples} />
        ))}
      </ul>
    </section>
  )
}

function NodeCard({ node, samples }: { node: ServerNode; samples: readonly Look[] }) {
  const { id, name, version, startedAt, seenAt, isHere, figures } = node
  const of = (figure: string) => figures[figure] ?? 0
  const line = (figure: string) => samples.map(({ nodes }) => nodes.find(one => one.id === id)?.figures[figure])
  const waiting = of('modelCallsWaiting')
  return (
    <li className="node" aria-label={name}>
      <p className="row">
        <code className="cut">{name}</code>
        {isHere && <span className="badge badge--accent">this one</span>}
        <span className="grow" />
        <span className="quiet small">Colloquy {version}</span>
      </p>
      <p className="quiet small">
        since <When at={startedAt} />
        {!isHere && (
          <>
            {' '}
            · heard of <When at={seenAt} />
          </>
        )}
      </p>
      <dl>
        <Figure name="Memory" value={bytes(of('memoryBytes'))}>
          <Chart label={`Memory of ${name}`} values={line('memoryBytes')} />
        </Figure>
        <Figure name="Delay of its loop (99 %)" value={duration(of('loopDelayMs'))}>
          <Chart label={`Delay of the loop of ${name}`} values={line('loopDelayMs')} />
        </Figure>
        <Figure name="Subscribers" value={whole(of('subscribers'))} />
        <Figure name="Agents at work" value={whole(of('runs'))} />
        <Figure name="Writes that wait" value={whole(of('writesWaiting'))} />
        <Figure
          name="Calls of models"
          value={`${whole(of('modelCalls'))}${waiting > 0 ? `, ${whole(waiting)} wait` : ''}`}
        />
      </dl>
    </li>
  )
}

function Figure({ name, value, children }: { name: string; value: string; children?: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className="numbers">
        {value}
        {children}
      </dd>
    </div>
  )
}
