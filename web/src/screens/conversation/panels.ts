/**
 * What stands beside the timeline, one at a time: `?panel=ID`. Each shows the conversation at the version it is given, or
 * now. A new panel is a line here.
 */
import type { ComponentType } from 'react'
import { AgentsPanel } from './agents-panel.tsx'

export interface PanelProps {
  conversationId: string
  /** The version to show it at; undefined is now. */
  at: number | undefined
}

interface Panel {
  id: string
  title: string
  Content: ComponentType<PanelProps>
}

export const panels: readonly Panel[] = [{ id: 'agents', title: 'Agents', Content: AgentsPanel }]
