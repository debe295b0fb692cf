/** Asks the store of a door two things that its worker answers, twice, and tells what came of them. */
const [door, path] = process.argv.slice(2)
const { sqliteStore } = await import(door)
const store = await sqliteStore(path, { clock: Date.now })
const asked = [() => store.search({ project: 'shop', text: 'x' }), () => store.verify()]
const told = []
for (let i = 0; i < 2; i++) {
  for (const one of await Promise.allSettled(asked.map(ask => ask()))) {
    told.push(one.status === 'fulfilled' ? 'an answer' : `${one.reason.code}: ${one.reason.message}`)
  }
}
await store.close()
console.log(JSON.stringify(told))
