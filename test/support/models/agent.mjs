/** A command-line agent for tests: reads its prompt, then plays the next of the scenes it is given, as an agent prints. */
import { appendFileSync, readFileSync } from 'node:fs'

const [file] = process.argv.slice(2)
const scenes = JSON.parse(readFileSync(file, 'utf8'))
appendFileSync(`${file}.calls`, '.')
const scene = scenes[Math.min(readFileSync(`${file}.calls`, 'utf8').length, scenes.length) - 1]

let prompt = ''
for await (const piece of process.stdin) prompt += piece
if (prompt.trim() === '') process.exit(64)
if (scene.prompt) appendFileSync(scene.prompt, prompt)

for (const word of (scene.text ?? '').match(/\S+\s*/g) ?? []) process.stdout.write(word)
if (scene.ending === 'cut') {
  process.stderr.write('the agent lost its mind\n')
  process.exitCode = 3
} else if (scene.ending === 'stall') setInterval(() => undefined, 1000)
