/**
 * `node scripts/screenshots.mjs [NAME…]`: fills a store as a team would leave it, serves it, and takes a picture of every
 * screen in both themes into docs/screenshots/.
 */
import { join } from 'node:path'
import { root, run, setUp } from './setup.mjs'

setUp()
run(process.execPath, ['--import', 'tsx', join(root, 'test', 'browser', 'screenshots.ts'), ...process.argv.slice(2)])
