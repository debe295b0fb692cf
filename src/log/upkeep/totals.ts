/** Sums up a project: its conversations, sessions, events and tokens. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ProjectTotals } from '../directory.ts'
import type { RowStore } from '../rows.ts'

const pageSize = 1000

export async function totals(store: RowStore, project: string): Promise<ProjectTotals> {
  const sum: ProjectTotals = {
    ...{ conversations: 0, sessions: 0, events: 0, compactions: 0 },
    ...{ messages: 0, tokens: 0, input: 0, output: 0 },
  }
  for (let after: string | undefined; ; ) {
    const page = await store.rows(rows => rows.totals({ project, after, limit: pageSize }))
    for (const { conversationId: _, ...row } of page) {
      sum.conversations++
      for (const name of Object.keys(row) as Array<keyof typeof row>) sum[name] += row[name]
    }
    if (page.length < pageSize) return sum
    after = page.at(-1)!.conversationId
    await nextTurn()
  }
}
