/**
 * `npm start`: makes everything ready and serves the store of this project. Arguments are those of `colloquy serve`:
 * `npm start -- --port 8080`.
 */
import { setUp } from './setup.mjs'

setUp()
stopWithNpm()
// Runs in this process, so that a signal reaches the server itself and it stops cleanly.
process.argv.splice(2, 0, 'serve')
await import('../dist/cli.js')

/**
 * npm hands SIGTERM to the shell it started, which ends without handing it on: a server left alone like that would go on
 * unseen, with the port and the store.
 */
function stopWithNpm() {
  if (process.env.npm_lifecycle_event !== 'start') return
  const shell = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === shell) return
    clearInterval(watch)
    process.kill(process.pid, 'SIGTERM')
  }, 500).unref()
}
