/** The files of the built UI. Their names are read once, so that a path cannot name any other file. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Context } from 'hono'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
}

/** Formats that are compressed already. */
const compressed: ReadonlySet<string> = new Set(['.png', '.woff2'])

interface WebFiles {
  /** False when the UI was not built. */
  readonly isThere: boolean
  /** The file at a path such as `/assets/index-x1y2.js`, or undefined when there is none. */
  answer(path: string, context: Context): Promise<Response | undefined>
}

interface WebFile {
  body: Uint8Array<ArrayBuffer>
  etag: string
  type: string
  isCompressible: boolean
  gzipped?: Promise<Uint8Array<ArrayBuffer>>
}

const builtUi = fileURLToPath(new URL('./web/', import.meta.url))

export function webFiles(folder: string = builtUi): WebFiles {
  const files = new Map<string, string>()
  for (const name of namesIn(folder)) files.set(name === 'index.html' ? '/' : `/${name}`, name)
  const read = new Map<string, WebFile>()

  function fileOf(name: string): WebFile {
    const cached = read.get(name)
    if (cached) return cached
    const body = new Uint8Array(readFileSync(join(folder, name)))
    const file: WebFile = {
      body,
      etag: `"${createHash('sha1').update(body).digest('base64url')}"`,
      type: types[extname(name)] ?? 'application/octet-stream',
      isCompressible: !compressed.has(extname(name)),
    }
    read.set(name, file)
    return file
  }

  return {
    isThere: files.has('/'),
    async answer(path, context) {
      const name = files.get(path)
      if (name === undefined) return undefined
      const file = fileOf(name)
      const headers: Record<string, string> = {
        'content-type': file.type,
        // The build puts the digest of a file's content into its name below `assets`, and nowhere else.
        'cache-control': name.startsWith('assets/') ? 'private, max-age=31536000, immutable' : 'private, no-cache',
        etag: file.etag,
        vary: 'accept-encoding',
      }
      if (context.req.header('if-none-match')?.includes(file.etag)) return new Response(null, { status: 304, headers })
      if (!file.isCompressible || !/\bgzip\b/.test(context.req.header('accept-encoding') ?? '')) {
        return new Response(file.body, { headers })
      }
      file.gzipped ??= promisify(gzip)(file.body, { level: 9 }).then(body => new Uint8Array(body))
      return new Response(await file.gzipped, { headers: { ...headers, 'content-encoding': 'gzip' } })
    },
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => join(entry.parentPath ?? entry.path, entry.name).slice(folder.length))
      .map(name => name.replaceAll('\\', '/').replace(/^\//, ''))
  } catch {
    // The UI was not built; the API works without it.
    return []
  }
}
