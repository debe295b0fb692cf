/** The contract of branches: they continue the versions and the hash chain of their parent. */

import { describe, expect, it } from 'vitest'
import { IllegalState, NotFound } from '../errors.ts'
import type { StoreCalls } from '../log/store.ts'
import type { Viewer } from '../log/visibility.ts'
import { memoryArchives } from './archives.ts'
import { conversationCreated, errorOf, messageAdded, origin, proposal, sessionCreated, textsIn } from './builders.ts'
import type { OpenStore } from './store-under-test.ts'

const project = 'shop'

export function describeBranches(name: string, open: OpenStore): void {
  describe(`branches on ${name}`, () => {
    describeBranchPoints(open)
    describeBranchEvents(open)
  })
}

async function storeWithParent(open: OpenStore): Promise<StoreCalls> {
  const { store } = await open()
  await store.append(
    proposal('parent', [conversationCreated(), messageAdded('one'), messageAdded('two'), messageAdded('three')]),
  )
  return store
}

function branchAt(version: number) {
  return conversationCreated({ branchOf: { conversationId: 'parent', version } })
}

function describeBranchPoints(open: OpenStore): void {
  it('[P2] versions of a branch go on from the branch point, without a gap', async () => {
    const store = await storeWithParent(open)
    const { events } = await store.append(proposal('branch', [branchAt(2), messageAdded('else')]))
    expect(events.map(event => event.version)).toEqual([3, 4])
    await store.append(proposal('branch', messageAdded('more')))
    expect((await store.conversation(project, 'branch'))?.version).toBe(5)
    const own = await store.read({ project, conversationId: 'branch' })
    expect(own.map(event => event.version)).toEqual([3, 4, 5])
    expect(textsIn(own)).toEqual(['else', 'more'])
  })

  it('[P13] hashes of a branch go on from the parent, and verify follows them', async () => {
    const store = await storeWithParent(open)
    await store.append(proposal('branch', [branchAt(2), messageAdded('else')]))
    await store.append(proposal('other', branchAt(3)))
    expect(await store.verify()).toMatchObject({ conversations: 3, events: 7, damages: [], clean: true })
  })

  it('a branch counts its own messages only', async () => {
    const store = await storeWithParent(open)
    await store.append(proposal('branch', [branchAt(2), messageAdded('else')]))
    expect(await store.totals(project)).toMatchObject({ conversations: 2, events: 6, messages: 4 })
  })

  it('the same key returns the same branch again', async () => {
    const store = await storeWithParent(open)
    const once = { key: 'k', digest: 'd' }
    const first = await store.append(proposal('branch', [branchAt(2), messageAdded('else')], { once }))
    const repeated = await store.append(proposal('branch', [branchAt(2), messageAdded('else')], { once }))
    expect(repeated).toMatchObject({ replayed: true })
    expect(repeated.events.map(event => event.version)).toEqual(first.events.map(event => event.version))
  })

  it('branching off a version that does not exist is refused', async () => {
    const store = await storeWithParent(open)
    expect(await errorOf(() => store.append(proposal('branch', branchAt(9))))).toBeInstanceOf(NotFound)
    expect(await store.conversation(project, 'branch')).toBeUndefined()
  })

  it('[P4] a parent whose branch depends on it is not purged; the branch is, and is restored', async () => {
    const store = await storeWithParent(open)
    const to = memoryArchives()
    await store.append(proposal('branch', [branchAt(2), messageAdded('else')]))
    const refused = await errorOf(() => store.purge({ project, conversationId: 'parent', to, origin }))
    expect(refused).toBeInstanceOf(IllegalState)
    expect(to.files.size).toBe(0)

    const branch = await store.purge({ project, conversationId: 'branch', to, origin })
    const whole = await store.purge({ project, conversationId: 'parent', to, origin })
    const restore = (archive: string) => store.restore({ project, lines: to.read(archive), origin })
    // The branch alone has nothing to hang on.
    expect(await errorOf(() => restore(branch.archive))).toBeInstanceOf(IllegalState)
    await restore(whole.archive)
    expect(await restore(branch.archive)).toMatchObject({ version: 4 })
    expect(textsIn(await store.read({ project, conversationId: 'branch' }))).toEqual(['else'])
    expect((await store.verify()).damages).toEqual([])
  })
}

function describeBranchEvents(open: OpenStore): void {
  it('a conversation lists its own branches, and no others', async () => {
    const store = await storeWithParent(open)
    await store.append(proposal('branch', branchAt(2)))
    await store.append(proposal('twig', conversationCreated({ branchOf: { conversationId: 'branch', version: 3 } })))
    const ids = async (branchesOf: string) =>
      (await store.conversations({ project, branchesOf })).items.map(({ info }) => info.id)
    expect(await ids('parent')).toEqual(['branch'])
    expect(await ids('branch')).toEqual(['twig'])
    expect(await ids('twig')).toEqual([])
  })

  it('a branch reads the events that are not messages, on any page', async () => {
    const { store } = await open()
    await store.append(
      proposal('c', [
        conversationCreated(),
        messageAdded('a'),
        sessionCreated('s'),
        messageAdded('b'),
        messageAdded('c'),
        sessionCreated('t'),
      ]),
    )
    const versions = async (more: object) =>
      (await store.read({ project, conversationId: 'c', facts: true, ...more })).map(event => event.version)
    expect(await versions({})).toEqual([1, 3, 6])
    expect(await versions({ backwards: true, limit: 2 })).toEqual([6, 3])
    expect(await versions({ from: 2, to: 5 })).toEqual([3])
  })

  it('landmarks of a branch, where a store keeps any, are the heads of their version', async () => {
    const { store } = await open()
    const titles = Array.from({ length: 600 }, (_, index) => ({
      type: 'conversation.annotated' as const,
      title: `Title ${index}`,
    }))
    await store.append(proposal('c', [conversationCreated(), sessionCreated('s'), ...titles]))
    expect(await store.landmark(project, 'c', 1)).toBeUndefined()
    expect(await store.landmark(project, 'other', 600)).toBeUndefined()
    const landmark = await store.landmark(project, 'c', 600)
    if (!landmark) return
    const { version, info } = landmark.conversation
    expect(version).toBeLessThanOrEqual(600)
    expect(info).toMatchObject({ id: 'c', title: `Title ${version - 3}` })
    expect(landmark.sessions).toMatchObject([{ id: 's' }])
  })

  it('[P12] a session that continues another sees the messages to that one', async () => {
    const store = await storeWithParent(open)
    await store.append(
      proposal('parent', [
        sessionCreated('s'),
        messageAdded('secret', { audience: { to: 'session', sessionId: 's' } }),
      ]),
    )
    const place = { project, conversationId: 'parent' }
    const contentsOf = async (continues?: readonly string[]) => {
      const viewer: Viewer = { sees: 'as-session', sessionId: 't', agentName: 't', ...(continues && { continues }) }
      const window = { ...place, viewer, kinds: ['talk'] as const, start: 4, kept: [] }
      const shown = await store.messages(window, { limit: 9 })
      const results = await store.search({ ...place, text: 'secret', viewer })
      const { messages } = await store.measure(window)
      return { shown: shown.map(message => message.content), messages, found: results.map(hit => hit.snippet) }
    }
    expect(await contentsOf()).toEqual({ shown: [], messages: 0, found: [] })
    expect(await contentsOf(['s'])).toEqual({ shown: ['secret'], messages: 1, found: ['secret'] })
  })
}
