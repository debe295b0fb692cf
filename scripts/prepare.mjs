/**
 * Builds when npm has installed: so a package that is installed from its git repository has something in it. Without what
 * builds (`npm ci --omit=dev`) what is there stays as it is.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { build, buildUi, root } from './setup.mjs'

if (existsSync(join(root, 'node_modules', 'typescript'))) {
  build()
  buildUi()
}
