/** Commands of the current screen. Screens register theirs while mounted; the palette lists them. */
import { useEffect } from 'react'
import type { MenuItem } from '../components/menu.tsx'
import { store } from '../connection/store.ts'

interface CommandGroup {
  title: string
  items(): readonly MenuItem[]
}

export const commandGroups = store<readonly CommandGroup[]>([])

export function useCommands(title: string, items: () => readonly MenuItem[]): void {
  useEffect(() => {
    const group: CommandGroup = { title, items }
    commandGroups.set([...commandGroups.get(), group])
    return () => commandGroups.set(commandGroups.get().filter(one => one !== group))
  }, [title, items])
}
