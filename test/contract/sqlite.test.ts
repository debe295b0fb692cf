/** The SQLite store passes every contract. */
import { describeStore } from 'colloquy/testing'
import { openSqlite } from './open-sqlite.ts'

describeStore('sqlite', openSqlite)
