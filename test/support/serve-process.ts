/** `colloquy serve` in a process of its own, for one test. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

export interface ServeProcess {
  child: ChildProcess
  told: { url: string; entry: string; tokenFile: string; store: string; project: string }
  token: string
  ended: Promise<number | null>
}

/** Resolves when it has told where it listens. */
export async function startServe(args: string[], options: { cwd: string; entry?: string }): Promise<ServeProcess> {
  const entry = options.entry ?? join(root, 'dist/cli.js')
  const child = spawn(process.execPath, [entry, ...args], { cwd: options.cwd, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const exit = new Promise<number | null>(resolve => child.on('close', code => resolve(code)))
  let text = ''
  const address = await new Promise<ServeProcess['told']>((resolve, reject) => {
    child.stdout!.setEncoding('utf8').on('data', piece => {
      text += piece
      const line = text.split('\n').find(one => one.startsWith('{') && one.endsWith('}'))
      if (line) resolve(JSON.parse(line))
      else if (text.trimEnd().endsWith('\n}')) resolve(JSON.parse(text.slice(text.indexOf('{'))))
    })
    exit.then(code => reject(new Error(`it ended with ${code}: ${text}`)))
  })
  return { child, told: address, token: readFileSync(address.tokenFile, 'utf8').trim(), ended: exit }
}
