/**
 * Puts the sources together as the files that `package.json` names: a program that loads one loads a few files, not some
 * five hundred, which would take most of the time of a short command. All of them are in one folder, so that code finds
 * the workers, the UI and `package.json` by the same way whichever file it came into.
 */
import { copyFileSync, readFileSync } from 'node:fs'
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
await bundle(
  Object.fromEntries(doors),
  { external: /^[^./]/ },
  { chunkFileNames: 'part-[name]-[hash].js', sourcemap: true },
)

/** Programs take no schemas from callers, so they bundle zod: its hundred files load more slowly than all of ours. */
const ofProgram = { external: /^(?!zod$)[^./]/ }
await bundle({ cli: 'src/cli/main.ts' }, ofProgram, { chunkFileNames: 'cli-[name]-[hash].js' })
// One file: a program that bundles the package has to take it along.
await bundle({ 'sqlite-worker': 'src/stores/sqlite/worker/worker.ts' }, ofProgram, { codeSplitting: false })
copyFileSync(join(root, 'node_modules', 'zod', 'LICENSE'), join(root, 'dist', 'LICENSE-zod'))

/** `external` names installed packages and Node's own modules. */
async function bundle(input, options, output) {
  const bundled = await rolldown({ cwd: root, input, platform: 'node', ...options })
  await bundled.write({ dir: 'dist', format: 'esm', entryFileNames: '[name].js', ...output })
  await bundled.close()
}
