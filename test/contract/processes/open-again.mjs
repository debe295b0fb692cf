/** `open-again.mjs PATH TIMES`: opens a store, asks it one thing and closes it, so many times, and says how many files it has open then. */
import { readdirSync } from 'node:fs'
import { sqliteStore } from 'colloquy/sqlite'

const [path, times] = process.argv.slice(2)
for (let time = 0; time < Number(times); time++) {
  const store = await sqliteStore(path, { clock: Date.now })
  await store.projects()
  await store.close()
}
console.log(readdirSync('/proc/self/fd').length)
