/** Whoever looks for work hears of changes, whatever becomes of one subscription. */
import { expect, it, onTestFinished } from 'vitest'
import { PositionUnknown, StoreFailed } from '../../errors.ts'
import type { SubscribeOptions } from '../../log/event-log.ts'
import type { RecordedEvent } from '../../log/events/recorded-event.ts'
import { workChanges } from './work-changes.ts'

const unaborted = new AbortController().signal

const moved = (from: string, to: string): RecordedEvent =>
  ({ event: { type: 'work.moved', item: { type: 'bead', beadId: 'a' }, from, to } }) as never

/** A subscription gives what is said for it, and fails then but for the last. */
function changesOf(failure: Error, ...subscriptions: ReadonlyArray<readonly RecordedEvent[]>) {
  let number = 0
  async function* subscribe({ signal }: SubscribeOptions) {
    const mine = number++
    yield* subscriptions[mine]!
    if (mine < subscriptions.length - 1) throw failure
    await new Promise(resolve => signal!.addEventListener('abort', resolve))
  }
  const changes = workChanges({ subscribe, position: async () => 'at the start' }, 'shop')
  onTestFinished(() => changes.close())
  expect(changes.concernedParked()).toBe(true)
  return changes
}

const away = new StoreFailed('the disk was away')
const done = moved('in_progress', 'done')

it('tells of what is parked, and of nothing else', async () => {
  const changes = changesOf(away, [moved('open', 'in_progress'), done])
  await changes.next(unaborted)
  expect(changes.concernedParked()).toBe(false)
})

it('goes on when the log could not be followed for a while', async () => {
  const changes = changesOf(away, [done], [moved('parked', 'open')])
  await changes.next(unaborted)
  expect(changes.concernedParked()).toBe(false)
  await changes.next(unaborted)
  expect(changes.concernedParked()).toBe(true)
})

it('in a store that was put back meanwhile takes what it missed for anything', async () => {
  const changes = changesOf(new PositionUnknown('at the start', 'another store'), [done], [])
  await changes.next(unaborted)
  expect(changes.concernedParked()).toBe(false)
  await changes.next(unaborted)
  expect(changes.concernedParked()).toBe(true)
})
