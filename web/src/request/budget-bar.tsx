/** The use of a budget: each section, the reserve, the free part, and the compaction trigger. */
import { short, whole } from '../format.ts'
import './budget-bar.css'
import { bySection, type LedgerEntry, sectionNames } from './part-key.ts'

interface Budget {
  budget: number
  used: number
  /** Expected count of the provider. */
  calibrated: number
  entries: readonly LedgerEntry[]
}

/** @param trigger the share of the budget past which older messages are compacted */
export function BudgetBar({ budget, used, calibrated, entries, trigger }: Budget & { trigger?: number | undefined }) {
  const sections = bySection(entries).filter(({ tokens }) => tokens > 0)
  const setAside = Math.max(0, Math.min(budget, calibrated) - used)
  const free = Math.max(0, budget - used - setAside)
  const share = (tokens: number) => `${(tokens / budget) * 100}%`
  const parts = [
    ...sections.map(({ name, tokens }) => ({ name: name as string, label: sectionNames[name], tokens })),
    ...(setAside > 0 ? [{ name: 'set-aside', label: 'Reserved', tokens: setAside }] : []),
    { name: 'free', label: 'Free', tokens: free },
  ]
  return (
    <div className="budget">
      <div className="budget__bar" aria-hidden="true">
        {parts.map(({ name, label, tokens }) => (
          <span
            key={name}
            className={`budget__part budget__part--${name}`}
            style={{ width: share(tokens) }}
            title={`${label}: ${whole(tokens)} tokens`}
          />
        ))}
        {trigger !== undefined && <span className="budget__trigger" style={{ left: share(trigger) }} />}
      </div>
      <ul className="budget__legend" aria-label="The budget by section">
        {parts.map(({ name, label, tokens }) => (
          <li key={name} title={hints[name]}>
            <span className={`budget__key budget__part--${name}`} aria-hidden="true" />
            {label} <span className="numbers">{short(tokens)}</span>
          </li>
        ))}
        {trigger !== undefined && (
          <li title="Past this mark older messages become a checkpoint">
            <span className="budget__key budget__key--trigger" aria-hidden="true" />
            Compaction at <span className="numbers">{short(trigger)}</span>
          </li>
        )}
      </ul>
    </div>
  )
}

const hints: Readonly<Record<string, string>> = {
  'set-aside': 'The provider is expected to count more than the stored counts say: the difference is set aside',
  free: 'Room for further messages',
  checkpoint: 'The summary that stands for older messages',
  messages: 'Messages word for word',
  recall: 'Older messages that have words of this one',
  state: 'What code reads off the log',
}
