/** How Colloquy behaves where a caller does not say otherwise. */
import type { Sharing } from '../../log/events/session.ts'
import type { WorkItem } from '../../log/events/work-item.ts'

const hour = 60 * 60 * 1000

export interface Settings {
  /** How long a session lives without use; null for ever. Default 24 hours. */
  sessionExpiresInMs: number | null
  /** The largest message taken, in bytes. Default 16 MB. */
  maxMessageBytes: number
  /** What the sessions of one work item share, by its type. */
  sharing: Record<WorkItem['type'], Sharing>
  /** How often the maintenance sweep runs; null never. Default hourly. */
  sweepEveryMs: number | null
  archive: ArchiveSettings
}

/**
 * When a conversation is archived by the sweep. One that was restored is left alone for as long again: until it is
 * completed anew, and by age or inactivity counted from its restoring.
 */
export interface ArchiveSettings {
  /** As soon as it is completed. Default true. */
  onCompletion: boolean
  /** This long after it was created; null never (the default). */
  afterMs: number | null
  /** After this long without use; that a session expired meanwhile is none. Null never (the default). */
  inactiveForMs: number | null
}

export const defaultSettings: Settings = {
  sessionExpiresInMs: 24 * hour,
  maxMessageBytes: 16 * 1024 * 1024,
  sharing: { feature: 'checkpoint', task: 'checkpoint', bead: 'checkpoint', thread: 'messages' },
  sweepEveryMs: hour,
  archive: { onCompletion: true, afterMs: null, inactiveForMs: null },
}

export type SettingsInput = Partial<Omit<Settings, 'sharing' | 'archive'>> & {
  sharing?: Partial<Settings['sharing']>
  archive?: Partial<ArchiveSettings>
}

export function completeSettings(input: SettingsInput = {}): Settings {
  return {
    ...defaultSettings,
    ...input,
    sharing: { ...defaultSettings.sharing, ...input.sharing },
    archive: { ...defaultSettings.archive, ...input.archive },
  }
}
