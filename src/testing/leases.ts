/** The contract of leases: see `src/log/leases.ts`. */

import { describe, expect, it } from 'vitest'
import { InvalidInput, LeaseHeld, LeaseLost } from '../errors.ts'
import type { StoreCalls } from '../log/store.ts'
import { conversationCreated, errorOf, fenceOf, messageAdded, proposal } from './builders.ts'
import type { OpenStore } from './store-under-test.ts'

const project = 'shop'
const name = 'run c'
const minute = 60_000

export function describeLeases(storeName: string, open: OpenStore): void {
  describe(`leases on ${storeName}`, () => {
    describeHolding(open)
    describeReleasing(open)
    describeGenerations(open)
    describeQueue(open)
    describeFence(open)
  })
}

/** The part about writing under one, for a store that has more than one way to do it. */
export function describeFences(storeName: string, open: OpenStore): void {
  describe(`fences on ${storeName}`, () => describeFence(open))
}

const claim = (store: StoreCalls, holder: string, forMs = minute) => store.claim({ project, name, holder, forMs })
const renew = (store: StoreCalls, generation: number, forMs = minute) =>
  store.renew({ project, name, generation, forMs })
const release = (store: StoreCalls, generation: number) => store.release({ project, name, generation })
const holderOf = (store: StoreCalls) => store.holderOf({ project, name })

function describeHolding(open: OpenStore): void {
  it('a free lease is taken', async () => {
    const { store, clock } = await open()
    expect(await holderOf(store)).toBeUndefined()
    const lease = await claim(store, 'holder')
    expect(lease).toMatchObject({ name, holder: 'holder', expiresAt: new Date(clock.now + minute).toISOString() })
    expect(await holderOf(store)).toEqual(lease)
  })

  it('a lease is refused while another holder has it, and says who and until when', async () => {
    const { store } = await open()
    const { expiresAt } = await claim(store, 'holder')
    const error = await errorOf(() => claim(store, 'grace'))
    expect(error).toBeInstanceOf(LeaseHeld)
    expect(error).toMatchObject({ facts: { name, holder: 'holder', expiresAt }, status: 409 })
    expect(await holderOf(store)).toMatchObject({ holder: 'holder' })
  })

  it('[P12] a lease is per project and per name', async () => {
    const { store } = await open()
    await claim(store, 'holder')
    await store.claim({ project: 'bank', name, holder: 'grace', forMs: minute })
    await store.claim({ project, name: `${name}!`, holder: 'grace', forMs: minute })
    expect(await holderOf(store)).toMatchObject({ holder: 'holder' })
    expect(await store.holderOf({ project: 'bank', name })).toMatchObject({ holder: 'grace' })
    expect(await store.holderOf({ project: 'mill', name })).toBeUndefined()
  })

  it('a lease is free the moment it expires', async () => {
    const { store, clock } = await open()
    await claim(store, 'holder')
    clock.now += minute - 1
    expect(await errorOf(() => claim(store, 'grace'))).toBeInstanceOf(LeaseHeld)
    clock.now += 1
    expect(await holderOf(store)).toBeUndefined()
    expect(await claim(store, 'grace')).toMatchObject({ holder: 'grace' })
  })

  it('a lease is extended from now on when it is renewed, under the same generation', async () => {
    const { store, clock } = await open()
    const { generation } = await claim(store, 'holder')
    clock.now += minute - 1
    const renewed = await renew(store, generation)
    expect(renewed).toEqual({
      name,
      holder: 'holder',
      generation,
      expiresAt: new Date(clock.now + minute).toISOString(),
    })
    clock.now += minute - 1
    expect(await errorOf(() => claim(store, 'grace'))).toBeInstanceOf(LeaseHeld)
  })

  it('an expired lease cannot be renewed, although no other holder took it', async () => {
    const { store, clock } = await open()
    const { generation } = await claim(store, 'holder')
    clock.now += minute
    expect(await errorOf(() => renew(store, generation))).toBeInstanceOf(LeaseLost)
    expect(await holderOf(store)).toBeUndefined()
  })

  it('a lease cannot be renewed when another holder took it, or it never existed', async () => {
    const { store, clock } = await open()
    expect(await errorOf(() => renew(store, 1))).toBeInstanceOf(LeaseLost)
    const { generation } = await claim(store, 'holder')
    clock.now += minute
    await claim(store, 'grace')
    expect(await errorOf(() => renew(store, generation))).toBeInstanceOf(LeaseLost)
    expect(await holderOf(store)).toMatchObject({ holder: 'grace' })
  })

  it.each([[Number.NaN], [0], [-1], [1.5], [Number.POSITIVE_INFINITY], [Number.MAX_SAFE_INTEGER]])(
    'a lease is not held for %d milliseconds, and the error says so',
    async forMs => {
      const { store } = await open()
      const { generation } = await claim(store, 'ada')
      const request = { project, name, holder: 'ada', forMs }
      for (const attempt of [
        () => store.claim({ ...request, name: 'another' }),
        () => store.claimAny({ ...request, names: ['another'] }),
        () => store.renew({ ...request, generation }),
      ]) {
        const error = await errorOf(attempt)
        expect(error).toBeInstanceOf(InvalidInput)
        expect(error).toMatchObject({ field: 'forMs' })
      }
      expect(await store.holderOf({ project, name })).toMatchObject({ holder: 'ada', generation })
      expect(await claim(store, 'ada', 365 * 24 * 60 * minute)).toMatchObject({ holder: 'ada' })
    },
  )
}

function describeReleasing(open: OpenStore): void {
  it('a lease is free when it was released', async () => {
    const { store } = await open()
    const { generation } = await claim(store, 'holder')
    await release(store, generation)
    expect(await holderOf(store)).toBeUndefined()
    expect(await errorOf(() => renew(store, generation))).toBeInstanceOf(LeaseLost)
    expect(await claim(store, 'grace')).toMatchObject({ holder: 'grace' })
  })

  it('releasing a lost lease is quiet and takes nothing from the successor', async () => {
    const { store, clock } = await open()
    await release(store, 1)
    const { generation } = await claim(store, 'holder')
    clock.now += minute
    await claim(store, 'grace')
    await release(store, generation)
    expect(await holderOf(store)).toMatchObject({ holder: 'grace' })
  })

  it('a lease holds across opening the store again', async () => {
    const { store, reopen } = await open()
    const lease = await claim(store, 'holder')
    const reopened = await reopen()
    expect(await holderOf(reopened)).toEqual(lease)
    expect(await errorOf(() => claim(reopened, 'grace'))).toBeInstanceOf(LeaseHeld)
  })

  it('[P11] of many claims at the same moment through two handles, exactly one wins', async () => {
    const { store, another } = await open()
    const other = await another()
    const claims = Array.from({ length: 20 }, (_, index) => claim(index % 2 === 0 ? store : other, `worker ${index}`))
    const outcomes = await Promise.allSettled(claims)
    const won = outcomes.filter(outcome => outcome.status === 'fulfilled')
    expect(won).toHaveLength(1)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(LeaseHeld)
    }
    expect(await holderOf(store)).toEqual(won[0]!.value)
    expect(await holderOf(other)).toEqual(won[0]!.value)
  })
}

function describeGenerations(open: OpenStore): void {
  it('[P11] the generation always grows with every claim: after release, expiry and opening again', async () => {
    const { store, clock, another, reopen } = await open()
    const generations = [(await claim(store, 'holder')).generation]
    await release(store, generations[0]!)
    generations.push((await claim(store, 'grace')).generation)
    clock.now += minute
    generations.push((await claim(await another(), 'holder')).generation)
    clock.now += minute
    generations.push((await claim(await reopen(), 'holder')).generation)
    for (const [index, generation] of generations.entries()) {
      if (index > 0) expect(generation).toBeGreaterThan(generations[index - 1]!)
    }
  })

  it('[P11] a holder that claims again fences off its earlier self', async () => {
    const { store } = await open()
    await store.append(proposal('c', conversationCreated()))
    const earlier = await claim(store, 'holder')
    const later = await claim(store, 'holder')
    expect(later.generation).toBeGreaterThan(earlier.generation)
    const write = (lease: typeof later) => store.append(proposal('c', messageAdded('x'), { fence: fenceOf(lease) }))
    expect(await errorOf(() => write(earlier))).toBeInstanceOf(LeaseLost)
    expect(await errorOf(() => renew(store, earlier.generation))).toBeInstanceOf(LeaseLost)
    await release(store, earlier.generation)
    expect((await write(later)).events).toHaveLength(1)
  })
}

function describeQueue(open: OpenStore): void {
  const names = ['work a', 'work b', 'work c']
  const next = (store: StoreCalls, holder: string) => store.claimAny({ project, names, holder, forMs: minute })

  it('claiming one of several leases returns the first free one, in their order, and none when all are held', async () => {
    const { store, clock } = await open()
    await store.claim({ project, name: 'work a', holder: 'grace', forMs: minute / 2 })
    const first = await next(store, 'holder')
    expect(first).toMatchObject({ name: 'work b', holder: 'holder', generation: 1 })
    expect(await next(store, 'holder')).toMatchObject({ name: 'work c' })
    expect(await next(store, 'holder')).toBeUndefined()
    expect(await store.claimAny({ project, names: [], holder: 'holder', forMs: minute })).toBeUndefined()
    clock.now += minute / 2
    expect(await next(store, 'holder')).toMatchObject({ name: 'work a', generation: 2 })
    await store.release({ project, name: 'work b', generation: 1 })
    expect(await next(store, 'grace')).toMatchObject({ name: 'work b', holder: 'grace', generation: 2 })
  })

  it('[P11] claiming one of several leases gives no two callers the same, however many ask at once', async () => {
    const { store, another } = await open()
    const handles = [store, await another()]
    const many = Array.from({ length: 12 }, (_, index) => `work ${index}`)
    const asking = Array.from({ length: 20 }, (_, index) =>
      handles[index % 2]!.claimAny({ project, names: many, holder: `worker ${index}`, forMs: minute }),
    )
    const takenLeases = (await Promise.all(asking)).flatMap(lease => lease ?? [])
    expect(new Set(takenLeases.map(lease => lease.name)).size).toBe(takenLeases.length)
    // A caller that was passed over while others took theirs tries again.
    let lastLease = await store.claimAny({ project, names: many, holder: 'last', forMs: minute })
    const lateNames: string[] = []
    while (lastLease) {
      lateNames.push(lastLease.name)
      lastLease = await store.claimAny({ project, names: many, holder: 'last', forMs: minute })
    }
    expect([...takenLeases.map(lease => lease.name), ...lateNames].sort()).toEqual([...many].sort())
  })

  it('[P11] claiming one of several leases fences off its previous holder', async () => {
    const { store, clock } = await open()
    await store.append(proposal('c', conversationCreated()))
    const old = (await next(store, 'holder'))!
    clock.now += minute
    const lease = (await next(store, 'grace'))!
    expect(lease.name).toBe(old.name)
    expect(
      await errorOf(() => store.append(proposal('c', messageAdded('stale'), { fence: fenceOf(old) }))),
    ).toBeInstanceOf(LeaseLost)
    await store.append(proposal('c', messageAdded('mine'), { fence: fenceOf(lease) }))
  })
}

function describeFence(open: OpenStore): void {
  it('[P11] a fenced append is written while the lease is held', async () => {
    const { store } = await open()
    await store.append(proposal('c', conversationCreated()))
    const fence = fenceOf(await claim(store, 'holder'))
    expect((await store.append(proposal('c', messageAdded('x'), { fence }))).events).toHaveLength(1)
  })

  it('[P11] a fenced append is refused after expiry, release, take-over, and without any lease, and writes nothing', async () => {
    const { store, clock } = await open()
    await store.append(proposal('c', [conversationCreated(), messageAdded('before')]))
    const expectRefused = async (fence: { name: string; generation: number }) => {
      for (const what of [messageAdded('x'), [messageAdded('x'), messageAdded('y')], []]) {
        const error = await errorOf(() => store.append(proposal('c', what, { fence })))
        expect(error).toBeInstanceOf(LeaseLost)
        expect(error).toMatchObject({ facts: fence, status: 409 })
      }
    }
    await expectRefused({ name: 'never claimed', generation: 1 })
    const first = await claim(store, 'holder')
    await expectRefused({ name, generation: first.generation + 1 })
    clock.now += minute
    await expectRefused(fenceOf(first))
    const second = await claim(store, 'grace')
    await expectRefused(fenceOf(first))
    await release(store, second.generation)
    await expectRefused(fenceOf(second))
    expect(await store.read({ project, conversationId: 'c' })).toHaveLength(2)
  })

  it('[P11] a fence is checked in the transaction of the append: a take-over just before it counts', async () => {
    const { store, another, clock } = await open()
    const other = await another()
    await store.append(proposal('c', conversationCreated()))
    const old = await claim(store, 'holder')
    clock.now += minute
    const [taken, stale] = await Promise.allSettled([
      claim(store, 'grace'),
      store.append(proposal('c', messageAdded('stale'), { fence: fenceOf(old) })),
    ])
    expect(taken.status).toBe('fulfilled')
    expect(stale).toMatchObject({ status: 'rejected', reason: expect.any(LeaseLost) })
    expect(
      await errorOf(() => other.append(proposal('c', messageAdded('stale'), { fence: fenceOf(old) }))),
    ).toBeInstanceOf(LeaseLost)
    expect(await store.read({ project, conversationId: 'c' })).toHaveLength(1)
  })

  it('[P11] the fence of another project does not count', async () => {
    const { store } = await open()
    await store.append(proposal('c', conversationCreated()))
    const lease = await store.claim({ project: 'bank', name, holder: 'holder', forMs: minute })
    expect(
      await errorOf(() => store.append(proposal('c', messageAdded('x'), { fence: fenceOf(lease) }))),
    ).toBeInstanceOf(LeaseLost)
  })

  it('[P11] two workers that take turns never write between each other', async () => {
    const { store, another, clock } = await open()
    const handles = [store, await another()]
    await store.append(proposal('c', conversationCreated()))
    const work = async (handle: StoreCalls, holder: string) => {
      let written = 0
      while (written < 5) {
        const lease = await claim(handle, holder).catch(() => undefined)
        if (!lease) continue
        const write = (text: string) => handle.append(proposal('c', messageAdded(text), { fence: fenceOf(lease) }))
        await write(`${holder} begins`)
        clock.now += 1
        await write(`${holder} ends`)
        await release(handle, lease.generation)
        written++
      }
    }
    await Promise.all(handles.map((handle, index) => work(handle, `worker ${index}`)))
    const events = await store.read({ project, conversationId: 'c', from: 2 })
    const texts = events.map(({ event }) => (event.type === 'message.added' ? event.parts[0] : undefined))
    for (let i = 0; i < texts.length; i += 2) {
      const [begins, ends] = [texts[i], texts[i + 1]].map(part => (part?.type === 'text' ? part.text : ''))
      expect(ends).toBe(begins?.replace('begins', 'ends'))
    }
    expect(texts).toHaveLength(20)
  })
}
