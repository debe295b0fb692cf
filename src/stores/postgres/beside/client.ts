/**
 * Feeds the full-text index beside the engine's thread, when there is much to feed. The worker starts when it is first
 * needed, with a connection of its own.
 */
import { Worker } from 'node:worker_threads'
import { StoreClosed, StoreFailed } from '../../../errors.ts'
import { needsWorker } from '../../common/worker-file.ts'
import type { FeedCall, FeedReply, FeedSettings } from './protocol.ts'

export interface Beside {
  /** Takes in everything the log of a project has by now. */
  feed(project: number): Promise<void>
  close(): Promise<void>
}

/** @throws {StoreUnusable} when this file was taken away from the worker's */
export const refuseAlone = needsWorker(() => new URL(/* webpackIgnore: true */ './postgres-worker.js', import.meta.url))

export function beside(settings: FeedSettings): Beside {
  const pending = new Map<number, { resolve(): void; reject(error: Error): void }>()
  let worker: Worker | undefined
  let lastId = 0
  let closed = false

  function start(): Worker {
    // The address stands here so that tools that gather what a package loads find it. webpack would put a worker of its own
    // making in its place, one that cannot start.
    const started = new Worker(
      /* webpackIgnore: true */ new URL(/* webpackIgnore: true */ './postgres-worker.js', import.meta.url),
      {
        workerData: settings,
        name: 'colloquy',
        // Flags of the program, such as --input-type, are not for the worker.
        execArgv: [],
      },
    )
    started.on('message', ({ id, error }: FeedReply) => {
      const one = pending.get(id)
      pending.delete(id)
      if (pending.size === 0 && !closed) worker?.unref()
      if (error === undefined) one?.resolve()
      else one?.reject(new StoreFailed(error))
    })
    started.on('error', error => ended(started, error.message))
    started.on('exit', () => ended(started, 'it ended by itself'))
    // Only calls under way keep the program running.
    started.unref()
    return started
  }

  /** Whatever it was asked gets no answer any more; the next call starts another. */
  function ended(which: Worker, why: string): void {
    if (worker !== which) return
    worker = undefined
    const failure = closed ? new StoreClosed() : new StoreFailed(`The worker that feeds the index failed (${why}).`)
    for (const one of pending.values()) one.reject(failure)
    pending.clear()
  }

  return {
    feed(project) {
      if (closed) return Promise.reject(new StoreClosed())
      worker ??= start()
      const call: FeedCall = { id: ++lastId, project }
      return new Promise((resolve, reject) => {
        pending.set(call.id, { resolve, reject })
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
