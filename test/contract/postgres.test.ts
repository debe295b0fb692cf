/** The PostgreSQL store passes every contract, on a real server. */
import { describeAccounts } from './accounts.ts'
import { describeBranches } from './branches.ts'
import { describeEditedArchives } from './edited-archives.ts'
import { describeEventLog } from './event-log.ts'
import { describeLeases } from './leases.ts'
import { describeNodes } from './nodes.ts'
import { openPostgres } from './open-postgres.ts'
import { describeSearch } from './search.ts'
import { describeUpkeep } from './upkeep.ts'
import { describeWindows } from './windows.ts'
import { describeWorkItems } from './work-items.ts'

describeEventLog('postgres', openPostgres)
describeLeases('postgres', openPostgres)
describeNodes('postgres', openPostgres)
describeWindows('postgres', openPostgres)
describeUpkeep('postgres', openPostgres)
describeSearch('postgres', openPostgres)
describeEditedArchives('postgres', openPostgres)
describeBranches('postgres', openPostgres)
describeWorkItems('postgres', openPostgres)
describeAccounts('postgres', openPostgres)
