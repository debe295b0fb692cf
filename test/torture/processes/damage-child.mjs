/**
 * Writes a store to damage, or runs rounds of damage and reports each on descriptor 3; its parent notices when it
 * crashes or hangs.
 *
 * TypeScript is understood in this thread only (`node --import tsx` would load it in every worker of every store).
 */
import { writeSync } from 'node:fs'
import { register } from 'tsx/esm/api'

register()
const { damageRound, writeStore } = await import('../damage.ts')
const { write, folder, from, to, seed } = JSON.parse(process.argv[2])
if (write) await writeStore(write)
for (let round = from; round < to; round++) {
  writeSync(3, `${JSON.stringify(await damageRound(folder, seed, round))}\n`)
}
