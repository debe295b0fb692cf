/** The SQLite store passes every contract. */
import { describeAppends, describeFences, describeStore } from 'colloquy/testing'
import { openSqlite, openSqliteInUse } from './open-sqlite.ts'

describeStore('sqlite', openSqlite)

describeAppends('sqlite in use', openSqliteInUse)
describeFences('sqlite in use', openSqliteInUse)
