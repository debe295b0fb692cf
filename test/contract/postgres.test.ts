/** The PostgreSQL store passes every contract, on a real server. */
import { describeStore } from 'colloquy/testing'
import { openPostgres } from './open-postgres.ts'

describeStore('postgres', openPostgres)
