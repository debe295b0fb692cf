/**
 * Another program that looks into the store and leaves. If it takes itself for the last one, its leaving moves the
 * write-ahead log into the file and removes it.
 */
import { DatabaseSync } from '@photostructure/sqlite'

const connection = new DatabaseSync(process.argv[2])
connection.exec('select count(*) from events')
connection.close()
