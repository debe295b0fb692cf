/** Tokens and cost by conversation, agent and model. They are summed as the index is fed, so a query reads no log. */

import type { ProjectSpending, Spending } from '../../../log/accounts.ts'
import type { StoredEvent } from '../../../log/events/event.ts'
import { largestSum } from '../../../log/records/lane.ts'
import { type Spent, spentIn } from '../../../log/views/spending.ts'
import type { Database } from '../database.ts'

export const spendingSchema = `
create table spent (
  conversation integer not null,
  agent text not null,
  -- Empty where no model was asked.
  model text not null,
  messages integer not null,
  tokens integer not null,
  input integer not null,
  output integer not null,
  cost real not null,
  calls integer not null,
  unpriced integer not null,
  primary key (conversation, agent, model)
) without rowid;`

type Sums = [
  messages: number,
  tokens: number,
  input: number,
  output: number,
  cost: number,
  calls: number,
  unpriced: number,
]

/** A sum that is too large to be exact is reported as the largest exact number. */
const exact = (column: string) => `min(coalesce(sum(s.${column}), 0), ${largestSum})`

const sums = `coalesce(sum(s.messages), 0), ${exact('tokens')}, ${exact('input')}, ${exact('output')},
  coalesce(sum(s.cost), 0), coalesce(sum(s.calls), 0), coalesce(sum(s.unpriced), 0)`

export type SpendingKeeper = ReturnType<typeof spendingKeeper>

export function spendingKeeper(database: Database) {
  const ofProject = 'log.conversations c join spent s using (conversation) where c.project = ?'
  const sql = {
    add: database.prepare(`
      insert into spent (conversation, agent, model, messages, tokens, input, output, cost, calls, unpriced)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      on conflict do update set messages = messages + excluded.messages, tokens = tokens + excluded.tokens,
        input = input + excluded.input, output = output + excluded.output, cost = cost + excluded.cost,
        calls = calls + excluded.calls, unpriced = unpriced + excluded.unpriced`),
    // Removes agents whose sums reached zero, so that purged ones disappear from the report.
    dropEmpty: database.prepare('delete from spent where conversation = ? and messages = 0 and calls = 0'),
    forget: database.prepare('delete from spent where conversation = ?'),
    project: database.prepare('select project from log.projects where id = ?'),
    all: database.prepare(`select ${sums} from ${ofProject}`),
    agents: database.prepare(`select ${sums}, s.agent from ${ofProject} group by s.agent`),
    models: database.prepare(`select ${sums}, s.model from ${ofProject} and s.model <> '' group by s.model`),
    conversation: database.prepare(`
      select ${sums} from spent s
      where s.conversation = (select conversation from log.conversations where project = ? and id = ?)`),
  }
  /** The sums of one batch. */
  const waiting = new Map<string, { conversation: number; spent: Spent }>()

  function write(conversation: number, spent: Spent, sign: 1 | -1): void {
    const { agent, model = '', messages, tokens, input, output, cost, calls, unpriced } = spent
    const numbers = [messages, tokens, input, output, cost, calls, unpriced].map(number => number * sign)
    sql.add.run(conversation, agent, model, ...numbers)
  }

  return {
    take(conversation: number, event: StoredEvent): void {
      const spent = spentIn(event)
      if (!spent) return
      const key = `${conversation} ${spent.model ?? ''}\0${spent.agent}`
      const known = waiting.get(key)?.spent
      if (known) for (const name of numbers) known[name] += spent[name]
      else waiting.set(key, { conversation, spent })
    },
    /** Writes down what was taken since; inside the transaction of the batch. */
    flush(): void {
      for (const { conversation, spent } of waiting.values()) write(conversation, spent, 1)
      waiting.clear()
    },
    drop: () => waiting.clear(),
    /** Takes one event out again, while its content is still there. */
    takeOut(conversation: number, event: StoredEvent): void {
      const spent = spentIn(event)
      if (!spent) return
      write(conversation, spent, -1)
      sql.dropEmpty.run(conversation)
    },
    forget: (conversation: number) => sql.forget.run(conversation),
    ofProject(id: string): ProjectSpending {
      const row = (sql.project.get(id) as [number] | undefined)?.[0] ?? -1
      return {
        project: spendingOf(sql.all.get(row) as Sums),
        agents: named(sql.agents.all(row) as Array<[...Sums, string]>),
        models: named(sql.models.all(row) as Array<[...Sums, string]>),
      }
    },
    ofConversations(id: string, conversationIds: readonly string[]): Record<string, Spending> {
      const row = (sql.project.get(id) as [number] | undefined)?.[0] ?? -1
      return Object.fromEntries(
        conversationIds.map(conversationId => [
          conversationId,
          spendingOf(sql.conversation.get(row, conversationId) as Sums),
        ]),
      )
    },
  }
}

const numbers = ['messages', 'tokens', 'input', 'output', 'cost', 'calls', 'unpriced'] as const

function spendingOf([messages, tokens, input, output, cost, calls, unpriced]: Sums): Spending {
  return { messages, tokens, input, output, cost, calls, unpriced }
}

function named(rows: ReadonlyArray<[...Sums, string]>): Record<string, Spending> {
  return Object.fromEntries(rows.map(row => [row[7], spendingOf(row.slice(0, 7) as Sums)]))
}
