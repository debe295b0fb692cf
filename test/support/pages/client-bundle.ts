/** The client as one script for a page, under the name `ColloquyClient`. */
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))

export async function clientBundle(): Promise<string> {
  const built = await build({
    configFile: false,
    root,
    logLevel: 'error',
    build: {
      write: false,
      minify: false,
      lib: { entry: join(root, 'dist/client.js'), formats: ['iife'], name: 'ColloquyClient' },
    },
  })
  const [bundle] = Array.isArray(built) ? built : [built]
  if (!bundle || !('output' in bundle)) throw new Error('the client was not bundled')
  return bundle.output[0].code
}
