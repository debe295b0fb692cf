/**
 * Puts the sources together as the files that `package.json` names: a program that loads one loads a few files, not some
 * five hundred, which would take most of the time of a short command. All of them are in one folder, so that code finds
 * the workers, the UI and `package.json` by the same way whichever file it came into.
 */
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { rolldown } from 'rolldown'
import { root } from './setup.mjs'

const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
/** A door's types are where its source is, below another folder. */
const doors = Object.values(exports)
  .filter(door => door.types)
  .map(({ types, default: file }) => [
    basename(file, '.js'),
    types.replace('./dist/types', 'src').replace('.d.ts', '.ts'),
  ])
const entries = {
  ...Object.fromEntries(doors),
  cli: 'src/cli/main.ts',
  'sqlite-worker': 'src/stores/sqlite/beside/worker.ts',
  'postgres-worker': 'src/stores/postgres/beside/worker.ts',
}

const bundle = await rolldown({
  cwd: root,
  input: entries,
  platform: 'node',
  // What is installed beside the package, and Node's own.
  external: /^[^./]/,
})
await bundle.write({
  dir: 'dist',
  format: 'esm',
  sourcemap: true,
  entryFileNames: '[name].js',
  chunkFileNames: 'part-[name]-[hash].js',
})
await bundle.close()
