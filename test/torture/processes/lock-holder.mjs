/** Another process that takes the write lock of a store and keeps it until it is told to release it. */
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { DatabaseSync } from '@photostructure/sqlite'

const connection = new DatabaseSync(process.argv[2], { timeout: 10_000 })
connection.exec('begin immediate')
writeSync(3, 'held\n')
for await (const _ of createInterface({ input: process.stdin })) break
connection.exec('rollback')
connection.close()
writeSync(3, 'released\n')
process.exit(0)
