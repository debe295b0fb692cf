/** Every example runs and checks its own output; the documentation shows exactly that code. */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { runCli as colloquy } from './support/cli.ts'

const run = promisify(execFile)
const root = dirname(dirname(fileURLToPath(import.meta.url)))
const examples = readdirSync(join(root, 'examples')).filter(name => name.endsWith('.ts'))

it.each(examples)('examples/%s runs and finds what it expects', async name => {
  const { stdout } = await run(process.execPath, ['--import', 'tsx', join(root, 'examples', name)], { cwd: root })
  expect(stdout.trim()).not.toBe('')
})

it('README and docs show the code that the examples run', async () => {
  await run(process.execPath, [join(root, 'scripts', 'docs.mjs'), '--check'], { cwd: root })
})

it('the documentation shows no TypeScript that no example runs', () => {
  const pages = [
    'README.md',
    ...readdirSync(join(root, 'docs'))
      .filter(name => name.endsWith('.md'))
      .map(name => `docs/${name}`),
  ]
  const loose = pages.flatMap(page => {
    const text = readFileSync(join(root, page), 'utf8')
    const blocks = text.match(/(<!-- example: .* -->\n)?```ts\n/g) ?? []
    return blocks.filter(block => !block.startsWith('<!-- example')).map(() => page)
  })
  expect(loose).toEqual([])
})

it('docs/cli.md names every command', async () => {
  const { stdout } = await colloquy(['--help'])
  const commands = [...stdout.slice(stdout.indexOf('Commands:')).matchAll(/^ {2}([a-z]+)/gm)].map(([, name]) => name!)
  const page = readFileSync(join(root, 'docs/cli.md'), 'utf8')
  expect(commands).toContain('verify')
  expect(commands.filter(name => name !== 'help' && !new RegExp(`\`${name}[ \`]`).test(page))).toEqual([])
})
