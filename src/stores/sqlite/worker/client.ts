/**
 * Calls the worker thread of a store. The worker starts with the first call.
 *
 * It is never terminated, because ending a thread inside SQLite aborts the process. It stops by itself, after its current
 * slice of work.
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

export interface WorkerClient {
  call<O extends Operation>(
    operation: O,
    input: Operations[O]['takes'],
    onProgress?: Progress,
  ): Promise<Operations[O]['gives']>
  close(): Promise<void>
}

/** @throws {StoreUnusable} when a bundler left out the worker's file */
export const refuseAlone = needsWorker(() => new URL(/* webpackIgnore: true */ './sqlite-worker.js', import.meta.url))

export function workerClient(path: string, settings: () => WorkerSettings): WorkerClient {
  const pending = new Map<number, Pending>()
  let worker: Worker | undefined
  let lastId = 0
  let closed = false

  function start(): Worker {
    // A literal, so that tools that list the files of a package find it. webpack must not replace it by its own worker.
    const thread = new Worker(
      /* webpackIgnore: true */ new URL(/* webpackIgnore: true */ './sqlite-worker.js', import.meta.url),
      {
        workerData: settings(),
        name: 'colloquy',
        // Flags of the program, such as --input-type, do not fit the worker.
        execArgv: [],
      },
    )
    thread.on('message', answer)
    thread.on('error', error => ended(thread, error))
    thread.on('exit', () => ended(thread, undefined))
    // Only pending calls keep the program running.
    thread.unref()
    return thread
  }

  /** Rejects pending calls. The next call starts another worker. */
  function ended(thread: Worker, error: unknown): void {
    if (worker !== thread) return
    worker = undefined
    const failure = workerFailure(error, path)
    for (const call of pending.values()) call.reject(failure)
    pending.clear()
  }

  function answer(reply: Reply): void {
    const call = pending.get(reply.id)
    if (!call) return
    if (reply.kind === 'progress') {
      try {
        call.onProgress?.(reply.done, reply.total)
      } catch (error) {
        // The worker goes on with it, and its result is ignored.
        settled(reply.id)
        call.reject(error)
      }
      return
    }
    settled(reply.id)
    if (reply.kind === 'result') call.resolve(reply.value)
    else call.reject(revived(reply.error, path))
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

/** The error classes of the worker, which take a message and facts. By code, because a bundler may rename a class. */
const carriedClasses = new Map(
  [IllegalState, StoreBusy, StoreFull, StoreReadOnly, StoreDamaged, StoreUnusable, StoreFailed].map(errorClass => [
    new errorClass('').code as string,
    errorClass,
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
  const why = failure ? failure.message : 'it exited'
  return new StoreFailed(
    `${path}: the store's worker thread failed (${why}). The operation may or may not be done; try again.`,
    { path },
    { cause: error },
  )
}

function revived({ message, errcode, code, facts }: CarriedError, path: string): Error {
  const errorClass = code === undefined ? undefined : carriedClasses.get(code)
  if (errorClass) return new errorClass(message, { ...facts })
  const withFacts = facts && code !== undefined && carriedWithFacts[code]?.(facts)
  if (withFacts) return withFacts
  if (errcode !== undefined) return asStoreError(Object.assign(new Error(message), { errcode }), path)
  return new StoreFailed(`${path}: ${message}. If it happens again, run 'colloquy verify': the file may be damaged.`, {
    path,
  })
}
