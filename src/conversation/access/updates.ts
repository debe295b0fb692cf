/** What subscribers of the library and of the server are told of a project. */
import { InvalidInput } from '../../errors.ts'
import type { RecordedEvent } from '../../log/events/recorded-event.ts'
import type { Store } from '../../log/store.ts'
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

/** Subscribers at the end of the log are handed the same events, and so the same updates. */
const made = new WeakMap<RecordedEvent, Update>()

export function sharedUpdate(event: RecordedEvent): Update {
  const known = made.get(event)
  if (known) return known
  const update = updateOf(event)
  made.set(event, update)
  return update
}

/**
 * The log's own subscription, named and filtered. It starts where the log is when this is called.
 *
 * @throws {InvalidInput} naming an option that cannot be, such as a name that no update has
 */
export function updates<Name extends Update['name']>(
  store: Store,
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
  const isWanted = (update: Update): update is UpdateNamed<Name> =>
    (name === undefined || update.name === name) &&
    (sessionId === undefined || ('sessionId' in update && update.sessionId === sessionId))
  return {
    async next() {
      for (;;) {
        const { done, value } = await events.next()
        if (done) return { done: true, value: undefined }
        const update = sharedUpdate(value)
        if (isWanted(update)) return { done: false, value: update }
      }
    },
    async return() {
      await events.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
