/** Calls two operations of a store's worker, twice, and prints the results. */
const [door, path] = process.argv.slice(2)
const { sqliteStore } = await import(door)
const store = await sqliteStore(path, { clock: Date.now })
const operations = [() => store.search({ project: 'shop', text: 'x' }), () => store.verify()]
const results = []
for (let round = 0; round < 2; round++) {
  for (const result of await Promise.allSettled(operations.map(operation => operation()))) {
    results.push(result.status === 'fulfilled' ? 'an answer' : `${result.reason.code}: ${result.reason.message}`)
  }
}
await store.close()
console.log(JSON.stringify(results))
