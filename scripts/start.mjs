/**
 * `npm start`: makes everything ready and serves the store of this project. Arguments are those of `colloquy serve`:
 * `npm start -- --port 8080`.
 */
import { setUp } from './setup.mjs'

setUp()
// In this process, so that a signal reaches the server itself and it can stop in peace.
process.argv.splice(2, 0, 'serve')
await import('../dist/cli/main.js')
