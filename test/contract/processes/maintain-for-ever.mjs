/** `maintain-for-ever.mjs URL PROJECT`: begins the maintenance of a project, and never comes to its end. */
import { postgresStore } from 'colloquy/postgres'

const [url, project] = process.argv.slice(2)
const store = await postgresStore(url, { clock: Date.now })
await store.alone(project, 'maintenance', async () => {
  await store.claim({ project, name: 'maintenance', holder: 'maintenance', forMs: 5 * 60_000 })
  console.log('at it')
  await new Promise(resolve => setTimeout(resolve, 600_000))
})
