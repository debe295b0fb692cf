/** `copy.mjs FROM TO`: copies, and says after each page how far it has come. */
import { copyStore } from 'colloquy/stores'

const [from, to] = process.argv.slice(2)
await copyStore({ from, to, onProgress: ({ phase, done }) => process.stdout.write(`${phase} ${done}\n`) })
