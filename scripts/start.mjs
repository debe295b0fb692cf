/**
 * `npm start`: makes everything ready and shows Colloquy at work. There is no server yet, so it runs the first example
 * on a temporary store and prints the log it wrote.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root, run, say, setUp } from './setup.mjs'

setUp()
const folder = mkdtempSync(join(tmpdir(), 'colloquy-start-'))
const store = `sqlite:${join(folder, 'colloquy.db')}`
say(`Running examples/first.ts on a temporary store (${store}).\n`)
run(process.execPath, ['--import', 'tsx', join(root, 'examples', 'first.ts')], {
  env: { ...process.env, COLLOQUY_STORE: store },
})
rmSync(folder, { recursive: true, force: true })
console.log()
say("That was the library. Keep a store of your own with openColloquy(), and look into it with 'npx colloquy list'.")
