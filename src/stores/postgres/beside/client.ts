/**
 * Feeds the full-text index beside the engine's thread, when there is much to feed. The worker starts when it is first
 * needed, with a connection of its own.
 */
import { Worker } from 'node:worker_threads'
import { StoreClosed, StoreFailed } from '../../../errors.ts'
import type { FeedCall, FeedReply, FeedSettings } from './protocol.ts'

export interface Beside {
  /** Takes in everything the log of a project has by now. */
  feed(project: number): Promise<void>
  close(): Promise<void>
}

export function beside(settings: FeedSettings): Beside {
  const pending = new Map<number, { resolve(): void; reject(error: Error): void }>()
  let worker: Worker | undefined
  let lastId = 0
  let closed = false

  function start(): Worker {
    const started = new Worker(new URL('./worker.js', import.meta.url), {
      workerData: settings,
      name: 'colloquy',
      // Flags of the program, such as --input-type, are not for the worker.
      execArgv: [],
    })
    started.on('message', ({ id, error }: FeedReply) => {
      const one = pending.get(id)
      pending.delete(id)
      if (pending.size === 0 && !closed) worker?.unref()
      if (error === undefined) one?.resolve()
      else one?.reject(new StoreFailed(error))
    })
    started.on('error', error => {
      for (const one of pending.values()) one.reject(error)
      pending.clear()
      worker = undefined
    })
    // Only calls under way keep the program running.
    started.unref()
    return started
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
