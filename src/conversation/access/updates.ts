/** The updates of a project that subscribers of the library and of the server receive. */
import { InvalidInput } from '../../errors.ts'
import type { RecordedEvent } from '../../log/events/recorded-event.ts'
import type { StoreCalls } from '../../log/store.ts'
import { type Update, type UpdateNamed, updateNames, updateOf } from '../../log/views/update.ts'
import { checkAsked } from './input-schemas.ts'

export interface UpdatesOptions<Name extends Update['name'] = Update['name']> {
  /** 'start', 'now' (default), or the position of the last update seen. */
  from?: string
  conversationId?: string
  sessionId?: string
  /** Only updates of this name. */
  name?: Name
  signal?: AbortSignal
}

/** Subscribers at the end of the log share the same events, and so the same updates. */
const cachedUpdates = new WeakMap<RecordedEvent, Update>()

export function sharedUpdate(event: RecordedEvent): Update {
  const update = cachedUpdates.get(event) ?? updateOf(event)
  cachedUpdates.set(event, update)
  return update
}

/**
 * The log's subscription as named and filtered updates. It starts where the log is when this is called.
 *
 * @throws {InvalidInput} naming the wrong option, such as a name that no update has
 */
export function updates<Name extends Update['name']>(
  store: StoreCalls,
  project: string,
  options: UpdatesOptions<Name>,
): AsyncIterableIterator<UpdateNamed<Name>> {
  checkAsked('updates', options)
  const { conversationId, sessionId, name, from, signal } = options
  if (name !== undefined && !updateNames.includes(name))
    throw new InvalidInput('name', `must be one of ${updateNames.join(', ')}`)
  const events = store.subscribe({
    project,
    ...(conversationId !== undefined && { conversationId }),
    ...(from !== undefined && { from }),
    ...(signal && { signal }),
  })
  const named = updatesOf(
    events,
    (update): update is UpdateNamed<Name> =>
      (name === undefined || update.name === name) &&
      (sessionId === undefined || ('sessionId' in update && update.sessionId === sessionId)),
  )
  const finish = named.return.bind(named)
  // A generator ends after its pending `next`, which may wait for the next event: the subscription ends at once.
  named.return = async value => {
    await events.return?.()
    return finish(value)
  }
  return named
}

async function* updatesOf<T extends Update>(
  events: AsyncIterableIterator<RecordedEvent>,
  isWanted: (update: Update) => update is T,
): AsyncGenerator<T, undefined> {
  for (;;) {
    const { done, value } = await keepProcessAlive(events.next())
    if (done) return
    const update = sharedUpdate(value)
    if (isWanted(update)) yield update
  }
}

/**
 * Keeps the process alive while it waits, as a read of a socket does: a program that waits for the next update is not
 * over.
 */
async function keepProcessAlive<T>(result: Promise<T>): Promise<T> {
  const timer = setInterval(() => undefined, 2 ** 30)
  try {
    return await result
  } finally {
    clearInterval(timer)
  }
}
