/** Runs a TypeScript program of this repository, after making everything ready: `node scripts/run.mjs FILE ARGS…`. */
import { join } from 'node:path'
import { root, run, setUp } from './setup.mjs'

setUp()
const [file, ...args] = process.argv.slice(2)
run(process.execPath, ['--import', 'tsx', join(root, file), ...args], { cwd: process.cwd() })
