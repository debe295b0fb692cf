/** Other conversations of the project as what messages refer to: how they stand and what was said to everyone there. */

import type { Engine } from '../../log/engine.ts'
import type { Viewer } from '../../log/visibility.ts'
import type { ReferenceResolver } from '../../request/context/resolver.ts'
import { fence, oneLine } from '../../request/text/quote-untrusted.ts'

const mostMessages = 10
const longestMessage = 600

/** A viewer that sees only what is for everyone: no session and no agent has an empty name. */
const everyoneViewer: Viewer = { sees: 'as-session', sessionId: '', agentName: '' }

export function conversationResolver({ store }: Engine): ReferenceResolver {
  return {
    kinds: ['conversation'],
    async resolve({ target }, { project, conversationId: own }) {
      if (target === own) throw new Error('it is this conversation itself')
      const head = await store.conversation(project, target)
      if (!head) return undefined
      const { title, status, phase, summary, branchOf } = head.info
      const newest = await store.messages(
        {
          project,
          conversationId: target,
          viewer: everyoneViewer,
          kinds: ['talk'],
          start: 0,
          kept: [],
          ...(branchOf && { branchOf }),
        },
        { limit: mostMessages },
      )
      const lines = [`It is ${status}${phase === undefined ? '' : `, in phase ${oneLine(phase)}`}.`]
      if (summary !== undefined) lines.push(fence(summary, `${target} summary`, 'its summary'))
      else lines.push(newest.length > 0 ? 'Its newest messages:' : 'Nothing was said to everyone there.')
      for (const { version, author, content } of summary === undefined ? newest : []) {
        lines.push(fence(clipped(content), `${target} ${version}`, `${version} ${author}`))
      }
      return { text: lines.join('\n'), source: `conversation ${target} at version ${head.version}`, title }
    },
  }
}

function clipped(text: string): string {
  return text.length <= longestMessage ? text : `${text.slice(0, longestMessage).toWellFormed()}…`
}
