/**
 * `npm run test:sdk`: installs the Claude Agent SDK into its own folder, where it stays, and runs what is tested with it.
 * From then on `npm test` runs it too.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root, run, say, setUp } from './setup.mjs'

setUp()
const folder = join(root, 'test', 'sdk')
if (!existsSync(join(folder, 'node_modules', '.package-lock.json'))) {
  say('Installing the Claude Agent SDK for its tests (some 400 MB).')
  run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder })
}
run(process.execPath, [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', 'claude-agent-sdk'])
