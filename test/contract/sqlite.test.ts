/** The SQLite store passes every contract. */
import { describeAccounts } from './accounts.ts'
import { describeBranches } from './branches.ts'
import { describeEditedArchives } from './edited-archives.ts'
import { describeAppends, describeEventLog } from './event-log.ts'
import { describeFences, describeLeases } from './leases.ts'
import { describeNodes } from './nodes.ts'
import { openSqlite, openSqliteInUse } from './open-sqlite.ts'
import { describeSearch } from './search.ts'
import { describeUpkeep } from './upkeep.ts'
import { describeWindows } from './windows.ts'
import { describeWorkItems } from './work-items.ts'

describeEventLog('sqlite', openSqlite)
describeLeases('sqlite', openSqlite)

describeAppends('sqlite in use', openSqliteInUse)
describeFences('sqlite in use', openSqliteInUse)

describeNodes('sqlite', openSqlite)
describeWindows('sqlite', openSqlite)
describeUpkeep('sqlite', openSqlite)
describeSearch('sqlite', openSqlite)
describeEditedArchives('sqlite', openSqlite)
describeBranches('sqlite', openSqlite)
describeWorkItems('sqlite', openSqlite)
describeAccounts('sqlite', openSqlite)
