/**
 * Calls into the worker beside the engine's thread. The worker starts when it is first needed.
 *
 * It is never terminated: ending a thread inside SQLite aborts the process. It is asked to stop, and stops when its
 * present slice of work is done.
 */
import { Worker } from 'node:worker_threads'
import {
  IllegalState,
  InvalidInput,
  StoreBusy,
  StoreClosed,
  StoreDamaged,
  StoreFailed,
  StoreFull,
  StoreReadOnly,
  StoreUnusable,
} from '../../../errors.ts'
import type { Progress } from '../../../log/upkeep.ts'
import { asStoreError } from '../errors.ts'
import type { Call, CarriedError, Operation, Operations, Reply, WorkerSettings } from './protocol.ts'

interface Pending {
  resolve(value: unknown): void
  reject(error: Error): void
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

export function beside(path: string, settings: () => WorkerSettings): Beside {
  const pending = new Map<number, Pending>()
  let worker: Worker | undefined
  let lastId = 0
  let closed = false

  function start(): Worker {
    const started = new Worker(new URL('./worker.js', import.meta.url), {
      workerData: settings(),
      name: 'colloquy',
      // Flags of the program, such as --input-type, are not for the worker.
      execArgv: [],
    })
    started.on('message', answer)
    started.on('error', error => {
      for (const one of pending.values()) one.reject(error)
      pending.clear()
      worker = undefined
    })
    // Only calls under way keep the program running.
    started.unref()
    return started
  }

  function answer(reply: Reply): void {
    const one = pending.get(reply.id)
    if (!one) return
    if (reply.kind === 'progress') {
      one.onProgress?.(reply.done, reply.total)
      return
    }
    pending.delete(reply.id)
    if (pending.size === 0 && !closed) worker?.unref()
    if (reply.kind === 'result') one.resolve(reply.value)
    else one.reject(revived(reply.error, path))
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

/** The classes the worker throws; each takes its message and its facts. */
const carriedClasses = { IllegalState, StoreBusy, StoreFull, StoreReadOnly, StoreDamaged, StoreUnusable, StoreFailed }

function revived({ message, errcode, className, facts }: CarriedError, path: string): Error {
  const known = carriedClasses[className as keyof typeof carriedClasses]
  if (known) return new known(message, { ...facts })
  if (className === InvalidInput.name) return new InvalidInput(String(facts?.field), String(facts?.reason))
  if (errcode !== undefined) return asStoreError(Object.assign(new Error(message), { errcode }), path)
  return new StoreFailed(`${path}: ${message}. If it happens again, run 'colloquy verify': the file may be damaged.`, {
    path,
  })
}
