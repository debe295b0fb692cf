/** `close-unread.mjs PATH`: closes a store with an unread subscription, and waits for consequences. */
import { setTimeout as wait } from 'node:timers/promises'
import { sqliteStore } from 'colloquy/sqlite'

const store = await sqliteStore(process.argv[2], { clock: Date.now })
store.subscribe({ project: 'shop', from: 'start' })
await store.close()
// Time for anything that was left running to fail.
await wait(100)
console.log('closed')
