/** References in any interleaving: each content comes with its message, once, and reaches no other agent. */
import type { Message, ReferenceResolver } from 'colloquy'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'
import { entity } from '../../support/nostr.ts'

const agents = ['pm', 'dev', 'qa', 'merge', 'harness', 'writer'] as const

type Step =
  | { do: 'say'; to: readonly (typeof agents)[number][]; refers: boolean }
  | { do: 'answer' | 'look' | 'compact'; agent: (typeof agents)[number] }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('say' as const), to: fc.subarray([...agents]), refers: fc.boolean() }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom('answer' as const, 'answer' as const, 'look' as const, 'compact' as const),
      agent: fc.constantFrom(...agents),
    }),
  },
)

/** Gives a content to every reference to nostr. */
const relay: ReferenceResolver = {
  kinds: ['nostr'],
  resolve: async ({ target }) => ({ text: target, source: 'relay' }),
}

describe('any interleaving of agents, people, acknowledgements, references and compactions', () => {
  it('[P6] with references each agent gets every message that concerns it exactly once, in order, and nothing that does not', async () => {
    const { colloquy } = await freshColloquy({
      requests: { recall: false },
      resolvers: [relay],
      references: { perView: 100 },
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async steps => {
        const { id } = await colloquy.conversations.createConversation({ title: 'any' })
        const seenBy = new Map<string, number[]>(agents.map(agent => [agent, []]))
        const given = new Map<string, number[]>(agents.map(agent => [agent, []]))
        const newest = new Map<string, Message>()
        const refers = new Set<number>()
        /** By agent, which message each content it was given belongs to. */
        const contents = new Map<string, number[]>(agents.map(agent => [agent, []]))

        const record = (message: Message, to: readonly string[]) => {
          for (const agent of to.length === 0 ? agents : to) {
            if (agent === message.author) continue
            seenBy.get(agent)!.push(message.version)
            newest.set(agent, message)
          }
        }
        for (const one of steps) {
          if (one.do === 'say') {
            const audience = one.to.length === 0 ? undefined : { to: 'agents' as const, agents: [...one.to] }
            const content = one.refers ? `hear nostr:${entity('note', `${id} ${refers.size}`)}` : 'hear this'
            const message = { role: 'user' as const, content, ...(audience && { audience }) }
            const said = await colloquy.conversations.addEvent(id, message)
            if (one.refers) refers.add(said.version)
            record(said, one.to)
            continue
          }
          const trigger = newest.get(one.agent)
          if (!trigger) continue
          if (one.do === 'compact') {
            const [session] = (await colloquy.sessions.listSessions({ conversationId: id, agentName: one.agent })).items
            if (session) await colloquy.sessions.forceCompact(session.id)
            continue
          }
          const view = await colloquy.conversations.buildAgentMessages(id, one.agent, {
            trigger: { messageId: trigger.id },
          })
          const versions = (what: string) =>
            view.ledger.entries.filter(entry => entry.what === what).flatMap(entry => entry.versions ?? [])
          const already = given.get(one.agent)!
          const told = [...versions('catch-up'), ...versions('message')].filter(version => !already.includes(version))
          const all = await colloquy.conversations.getMessages(id)
          const own = all.filter(message => message.author === one.agent)
          const ofContent = new Map(all.flatMap(({ version, resolves }) => (resolves ? [[version, resolves.of]] : [])))
          const fresh = told.filter(version => !own.some(message => message.version === version))
          // New messages are in the catch-up block, or are the trigger; for a late joiner all is history.
          if (already.length > 0) {
            expect(fresh.filter(version => version !== trigger.version)).toEqual(versions('catch-up'))
          }
          expect(new Set(told).size).toBe(told.length)
          // Every reference that is new to the agent comes with its content: right behind it, or before the trigger.
          const freshContents = fresh.filter(version => ofContent.has(version))
          const said = fresh.filter(version => !ofContent.has(version))
          expect(freshContents.map(version => ofContent.get(version))).toEqual(
            said.filter(version => refers.has(version)),
          )
          for (const version of freshContents) {
            const of = ofContent.get(version)!
            expect(fresh.indexOf(version) - fresh.indexOf(of)).toBe(of === trigger.version ? -1 : 1)
          }
          if (one.do === 'look') continue
          already.push(...fresh)
          contents.get(one.agent)!.push(...freshContents)
          await colloquy.conversations.acknowledge(id, one.agent, view.upTo)
          record(await colloquy.sessions.addMessage(view.sessionId!, { role: 'assistant', content: 'done' }), [])
        }
        for (const agent of agents) {
          const told = given.get(agent)!.filter(version => !contents.get(agent)!.includes(version))
          expect(told).toEqual(seenBy.get(agent)!.filter(version => version <= (told.at(-1) ?? 0)))
        }
      }),
      { numRuns: 25 },
    )
  })
})
