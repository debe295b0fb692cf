/** Settings of sessions, messages and the maintenance sweep, with their defaults. */
import { z } from 'zod'
import { DurationMs } from '../../log/commands/duration.ts'
import { Sharing } from '../../log/events/session.ts'

const hour = 60 * 60 * 1000

export const ArchiveSettings = z.strictObject({
  onCompletion: z.boolean().default(true).describe('Archives a conversation when it is completed.'),
  afterMs: DurationMs.nullable()
    .default(null)
    .describe('Archives a conversation this long after it was created or restored; `null` for never.'),
  inactiveForMs: DurationMs.nullable()
    .default(null)
    .describe('Archives a conversation after this long without use. An expired session does not count as use.'),
})
export type ArchiveSettings = z.output<typeof ArchiveSettings>

const SharingByType = z.strictObject({
  feature: Sharing.default('checkpoint'),
  task: Sharing.default('checkpoint'),
  bead: Sharing.default('checkpoint'),
  thread: Sharing.default('messages'),
})

export const Settings = z.strictObject({
  sessionExpiresInMs: DurationMs.nullable()
    .default(24 * hour)
    .describe('Time after its last use when a session expires; `null` for never.'),
  maxMessageBytes: z
    .int()
    .positive()
    .default(16 * 1024 * 1024)
    .describe('Maximum size of a message.'),
  sharing: SharingByType.prefault({})
    .describe('What the sessions of a work item share, by its type: `separate`, `checkpoint` or `messages`.')
    .meta({ shownDefault: '`messages` for threads, `checkpoint` for others' }),
  sweepEveryMs: DurationMs.nullable()
    .default(hour)
    .describe('Time between two runs of the maintenance sweep; `null` for never.'),
  archive: ArchiveSettings.prefault({}).describe('Rules for archiving conversations in the sweep.'),
})
export type Settings = z.output<typeof Settings>
export type SettingsInput = z.input<typeof Settings>
