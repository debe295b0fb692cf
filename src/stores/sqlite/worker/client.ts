/**
 * Calls into the worker beside the engine's thread. The worker starts when it is first needed.
 *
 * It is never terminated: ending a thread inside SQLite aborts the process. It is asked to stop, and stops when its
 * present slice of work is done.
 */
import { Worker } from 'node:worker_threads'
import {
  ColloquyError,
  ConversationPurged,
  IllegalState,
  InvalidInput,
  NotFound,
  StoreBusy,
  StoreClosed,
  StoreDamaged,
  StoreFailed,
  StoreFull,
  StoreReadOnly,
  StoreUnusable,
  VersionConflict,
} from '../../../errors.ts'
import type { Progress } from '../../../log/upkeep.ts'
import { needsWorker } from '../../common/worker-file.ts'
import { asStoreError } from '../errors.ts'
import type { Call, CarriedError, Operation, Operations, Reply, WorkerSettings } from './protocol.ts'

interface Pending {
  resolve(value: unknown): void
  reject(error: unknown): void
  onProgress: Progress | undefined
}

export interface Beside {
  call<O extends Operation>(
    operation: O,
    input: Operations[O]['takes'],
    onProgress?: Progress,
  ): Promise<Operations[O]['gives']>
  close(): Promise<void>
}

/** @throws {StoreUnusable} when this file was taken away from the worker's */
export const refuseAlone = needsWorker(() => new URL(/* webpackIgnore: true */ './sqlite-worker.js', import.meta.url))

export function beside(path: string, settings: () => WorkerSettings): Beside {
  const pending = new Map<number, Pending>()
  let worker: Worker | undefined
  let lastId = 0
  let closed = false

  function start(): Worker {
    // The address stands here so that tools that gather what a package loads find it. webpack would put a worker of its own
    // making in its place, one that cannot start.
    const started = new Worker(
      /* webpackIgnore: true */ new URL(/* webpackIgnore: true */ './sqlite-worker.js', import.meta.url),
      {
        workerData: settings(),
        name: 'colloquy',
        // Flags of the program, such as --input-type, are not for the worker.
        execArgv: [],
      },
    )
    started.on('message', answer)
    started.on('error', error => ended(started, error))
    started.on('exit', () => ended(started, undefined))
    // Only calls under way keep the program running.
    started.unref()
    return started
  }

  /** Whatever it was asked gets no answer any more; the next call starts another. */
  function ended(which: Worker, error: unknown): void {
    if (worker !== which) return
    worker = undefined
    const failure = workerFailure(error, path)
    for (const one of pending.values()) one.reject(failure)
    pending.clear()
  }

  function answer(reply: Reply): void {
    const one = pending.get(reply.id)
    if (!one) return
    if (reply.kind === 'progress') {
      try {
        one.onProgress?.(reply.done, reply.total)
      } catch (error) {
        // The work goes on to its end, and nobody waits for it.
        settled(reply.id)
        one.reject(error)
      }
      return
    }
    settled(reply.id)
    if (reply.kind === 'result') one.resolve(reply.value)
    else one.reject(revived(reply.error, path))
  }

  function settled(id: number): void {
    pending.delete(id)
    if (pending.size === 0 && !closed) worker?.unref()
  }

  return {
    call(operation, input, onProgress) {
      if (closed) return Promise.reject(new StoreClosed())
      try {
        worker ??= start()
      } catch (error) {
        return Promise.reject(asStoreError(error, path))
      }
      const id = ++lastId
      const call: Call = { id, operation, input }
      return new Promise((resolve, reject) => {
        pending.set(id, { resolve: resolve as (value: unknown) => void, reject, onProgress })
        worker!.ref()
        worker!.postMessage(call)
      })
    },

    async close() {
      closed = true
      const stopping = worker
      if (!stopping) return
      stopping.ref()
      const stopped = new Promise<void>(resolve => stopping.once('exit', () => resolve()))
      stopping.postMessage('stop')
      await stopped
    },
  }
}

/** The classes the worker throws; each takes its message and its facts. By their codes: a bundler may rename a class. */
const carriedClasses = new Map(
  [IllegalState, StoreBusy, StoreFull, StoreReadOnly, StoreDamaged, StoreUnusable, StoreFailed].map(one => [
    new one('').code as string,
    one,
  ]),
)

type Facts = Readonly<Record<string, unknown>>

/** The classes that take more than a message and facts. */
const carriedWithFacts: Partial<Record<string, (facts: Facts) => Error>> = {
  'input/invalid': facts => new InvalidInput(String(facts.field), String(facts.reason)),
  'not-found': facts => new NotFound(facts.what as 'message', String(facts.id)),
  'log/version-conflict': facts => new VersionConflict(facts as ConstructorParameters<typeof VersionConflict>[0]),
  'conversation/purged': facts => new ConversationPurged(facts as ConstructorParameters<typeof ConversationPurged>[0]),
}

function workerFailure(error: unknown, path: string): Error {
  const failure = error === undefined ? undefined : asStoreError(error, path)
  if (failure instanceof ColloquyError) return failure
  const why = failure ? failure.message : 'it ended by itself'
  return new StoreFailed(
    `${path}: the worker beside the store failed (${why}). What it was asked may or may not be done; try again.`,
    { path },
    { cause: error },
  )
}

function revived({ message, errcode, code, facts }: CarriedError, path: string): Error {
  const known = code === undefined ? undefined : carriedClasses.get(code)
  if (known) return new known(message, { ...facts })
  const withFacts = facts && code !== undefined && carriedWithFacts[code]?.(facts)
  if (withFacts) return withFacts
  if (errcode !== undefined) return asStoreError(Object.assign(new Error(message), { errcode }), path)
  return new StoreFailed(`${path}: ${message}. If it happens again, run 'colloquy verify': the file may be damaged.`, {
    path,
  })
}
