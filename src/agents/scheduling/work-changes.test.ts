/** Dispatchers learn of changes when a subscription fails, too. */
import { expect, it, onTestFinished } from 'vitest'
import { PositionUnknown, StoreFailed } from '../../errors.ts'
import type { SubscribeOptions } from '../../log/event-log.ts'
import type { RecordedEvent } from '../../log/events/recorded-event.ts'
import { workChanges } from './work-changes.ts'

const unaborted = new AbortController().signal

const moved = (from: string, to: string): RecordedEvent =>
  ({ event: { type: 'work.moved', item: { type: 'bead', beadId: 'a' }, from, to } }) as never

/** Each subscription yields its events and then fails, except for the last. */
function changesOf(failure: Error, ...subscriptions: ReadonlyArray<readonly RecordedEvent[]>) {
  let number = 0
  async function* subscribe({ signal }: SubscribeOptions) {
    const index = number++
    yield* subscriptions[index]!
    if (index < subscriptions.length - 1) throw failure
    await new Promise(resolve => signal!.addEventListener('abort', resolve))
  }
  const changes = workChanges({ subscribe, position: async () => 'at the start' }, 'shop')
  onTestFinished(() => changes.close())
  expect(changes.concernedParked()).toBe(true)
  return changes
}

const away = new StoreFailed('the disk was away')
const done = moved('in_progress', 'done')

it('only events about parked beads concern parked beads', async () => {
  const changes = changesOf(away, [moved('open', 'in_progress'), done])
  await changes.next(unaborted)
  expect(changes.concernedParked()).toBe(false)
})

it('changes are reported after the log could not be read for a while', async () => {
  const changes = changesOf(away, [done], [moved('parked', 'open')])
  await changes.next(unaborted)
  expect(changes.concernedParked()).toBe(false)
  await changes.next(unaborted)
  expect(changes.concernedParked()).toBe(true)
})

it('a restored store counts as any change, because events may have been missed', async () => {
  const changes = changesOf(new PositionUnknown('at the start', 'another store'), [done], [])
  await changes.next(unaborted)
  expect(changes.concernedParked()).toBe(false)
  await changes.next(unaborted)
  expect(changes.concernedParked()).toBe(true)
})
