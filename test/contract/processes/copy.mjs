/** `copy.mjs FROM TO`: copies, and prints how many events are done after each conversation. */
import { copyStore } from 'colloquy/stores'

const [from, to] = process.argv.slice(2)
await copyStore({ from, to, onProgress: ({ done }) => process.stdout.write(`${done}\n`) })
